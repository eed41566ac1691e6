"""Telling people over the wire: a real webhook and a real mail server on this computer."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from orchestrator.app.notifying import notify, without_secrets
from orchestrator.report.morning.message import Message

pytestmark = pytest.mark.filterwarnings("ignore:.*imghdr.*:DeprecationWarning")  # one of apprise's plugins
MESSAGE = Message("lab, 12 Apr 2026: 1 case regressed", "B3 mnist cpu: 8.2 % slower\n  <b>not bold</b> ▁█\n")


class Hook(BaseHTTPRequestHandler):
    """Takes a webhook's body, or answers 500."""

    def do_POST(self) -> None:
        server: Any = self.server
        server.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Says nothing."""


class Mail(socketserver.StreamRequestHandler):
    """As much of RFC 5321 as a client without login needs."""

    def handle(self) -> None:
        server: Any = self.server
        self.wfile.write(b"220 lab\r\n")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                server.heard.append(b"".join(iter(self.rfile.readline, b".\r\n")))
            self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            if verb == b"QUIT":
                return


@contextmanager
def serving(server: Any) -> Iterator[Any]:
    server.heard, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def hook() -> Iterator[Any]:
    with serving(HTTPServer(("127.0.0.1", 0), Hook)) as server:
        yield server


def url_of(server: Any) -> str:
    return f"json://127.0.0.1:{server.server_port}/s3cretpath"


def test_a_webhook_hears_title_and_text(hook: Any) -> None:
    pytest.importorskip("apprise", reason="the extra [notify] is not installed")
    assert notify(["LAB_HOOK"], MESSAGE, {"LAB_HOOK": url_of(hook)}) == ()
    (body,) = hook.heard
    assert (body["title"], body["message"].rstrip("\n")) == (MESSAGE.title, MESSAGE.text.rstrip("\n"))


def test_a_mail_arrives_as_it_was_written() -> None:
    pytest.importorskip("apprise", reason="the extra [notify] is not installed")
    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail)) as server:
        port = server.server_address[1]
        url = f"mailto://127.0.0.1:{port}?from=orch@lab.test&to=nina@lab.test&mode=insecure&format=text"
        assert notify(["LAB_MAIL"], MESSAGE, {"LAB_MAIL": url}) == ()
        (raw,) = server.heard
    mail = message_from_bytes(raw, policy=policy.default)
    assert (mail["subject"], mail["to"]) == (MESSAGE.title, "nina@lab.test")
    part = mail.get_body()
    assert part is not None
    assert "<b>not bold</b> ▁█" in part.get_content()


def test_a_server_that_refuses_is_said_without_its_address_and_the_next_is_told(hook: Any) -> None:
    pytest.importorskip("apprise", reason="the extra [notify] is not installed")
    with serving(HTTPServer(("127.0.0.1", 0), Hook)) as bad:
        bad.status = 500
        variables = {"BAD": url_of(bad), "GOOD": url_of(hook), "ODD": "s3cretword"}
        said = notify(["BAD", "ODD", "MISSING", "GOOD"], MESSAGE, variables)
    assert len(hook.heard) == 1
    assert said[0] == "MISSING: is not set in the environment"
    assert said[1].startswith("BAD: was not told: ")
    assert "500" in said[1]
    assert said[2] == "ODD: is no URL that apprise knows"
    assert "s3cret" not in " ".join(said)


def test_a_server_that_is_not_there_is_a_warning() -> None:
    pytest.importorskip("apprise", reason="the extra [notify] is not installed")
    (said,) = notify(["GONE"], MESSAGE, {"GONE": "json://127.0.0.1:9/s3cretpath"})
    assert said.startswith("GONE: was not told")
    assert "s3cret" not in said


def test_nobody_is_asked_for_nothing() -> None:
    assert notify([], MESSAGE, {}) == ()
    assert notify(["LAB_HOOK"], MESSAGE, {}) == ("LAB_HOOK: is not set in the environment",)


def test_no_part_of_a_url_is_repeated() -> None:
    url = "slack://tokenA/tokenB%20x/tokenC?x=querysecret"
    said = without_secrets("tokenA failed for tokenB x and tokenB%20x\nat querysecret, slack", url)
    assert said == "… failed for … and … at …, slack"
