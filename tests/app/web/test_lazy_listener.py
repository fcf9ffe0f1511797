"""The page's port before anybody came, and its first visitor."""

import socket
import threading
import urllib.request

import pytest

from app.web import lazy_listener, page_listener
from app.web.lazy_listener import LazyListener
from app.web.page_listener import PageListener
from app.web.page_socket import AddressNotUsable, address_of, bind_page_socket


def hello(environ, start_response):
    start_response("200 OK", [("Content-Length", "5")])
    return [b"hello"]


def connect(address):
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


@pytest.mark.parametrize("has_visitor", [False, True])
def test_a_door_serves_whoever_comes_until_it_is_closed(has_visitor):
    listener = LazyListener(bind_page_socket("127.0.0.1", 0), hello)
    if has_visitor:
        for _ in range(2):
            assert urllib.request.urlopen(f"http://{listener.address}/", timeout=10).read() == b"hello"
    listener.close()
    with pytest.raises(ConnectionRefusedError):
        connect(listener.address)


def test_a_visitor_who_says_nothing_keeps_nobody_from_closing():
    listener = LazyListener(bind_page_socket("127.0.0.1", 0), hello)
    with connect(listener.address):
        listener.close()


def test_a_server_that_cannot_be_made_at_first_is_made_later(monkeypatch):
    monkeypatch.setattr(lazy_listener, "RETRY_AFTER_S", 0.01)
    tries = []

    def make(listening, app):
        tries.append(None)
        if len(tries) < 3:
            raise OSError("too many open files")
        return PageListener(listening, app)

    monkeypatch.setattr(page_listener, "PageListener", make)
    listener = LazyListener(bind_page_socket("127.0.0.1", 0), hello)
    assert urllib.request.urlopen(f"http://{listener.address}/", timeout=10).read() == b"hello"
    assert len(tries) == 3
    listener.close()


def test_a_server_that_can_never_be_made_keeps_nobody_from_closing(monkeypatch):
    tried = threading.Event()

    def make(listening, app):
        tried.set()
        raise OSError("too many open files")

    monkeypatch.setattr(page_listener, "PageListener", make)
    listener = LazyListener(bind_page_socket("127.0.0.1", 0), hello)
    with connect(listener.address):
        assert tried.wait(10)
        listener.close()
    with pytest.raises(ConnectionRefusedError):
        connect(listener.address)


def test_an_address_of_ip_6_stands_in_brackets():
    try:
        listening = bind_page_socket("::1", 0)
    except AddressNotUsable:
        pytest.skip("this machine has no IPv6")
    with listening:
        assert address_of(listening).startswith("[::1]:")
