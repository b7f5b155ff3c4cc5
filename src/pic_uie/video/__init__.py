"""Streams ↔ frames: probe, demux, temporal, pipeline, mux. PyAV (the extra `video`) decodes and encodes."""
