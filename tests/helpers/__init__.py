"""What several tests share: files, pictures, engines and the command."""
