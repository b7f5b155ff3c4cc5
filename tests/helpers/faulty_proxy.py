"""An HTTP proxy in front of a server of the tests: passes requests on, or answers as a store in trouble does."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "server", "date"}
ERROR = "<?xml version='1.0'?><Error><Code>{}</Code><Message>{}</Message></Error>"
BUSY = 503, ERROR.format("SlowDown", "Please reduce your request rate.")
BROKEN = 500, ERROR.format("InternalError", "We encountered an internal error. Please try again.")
FORBIDDEN = 403, ERROR.format("AccessDenied", "Access Denied")


class FaultyProxy:
    """Listens on a port of its own; `fault(method, path)` returns a status and a body, or None to pass a request on."""

    def __init__(self, target):
        self.target, self.requests, self.fault = target, [], None
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or a body waits 40 ms for the word that its head has come

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                proxy.requests.append((self.command, self.path))
                fault = proxy.fault(self.command, self.path) if proxy.fault else None
                if fault is not None:
                    self.reply(fault[0], [("Content-Type", "application/xml")], fault[1].encode())
                    return
                connection = http.client.HTTPConnection("127.0.0.1", proxy.target, timeout=60)
                headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
                connection.request(self.command, self.path, body, headers | {"Content-Length": str(len(body))})
                response = connection.getresponse()
                self.reply(
                    response.status, response.getheaders(), response.read(), response.getheader("Content-Length")
                )
                connection.close()

            def reply(self, status, headers, body, length=None):
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in _HOP:
                        self.send_header(name, value)
                head = self.command == "HEAD"
                self.send_header("Content-Length", (length or "0") if head else str(len(body)))
                self.end_headers()
                if not head:
                    self.wfile.write(body)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]

    def behave(self):
        self.fault = None
        self.requests.clear()

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
