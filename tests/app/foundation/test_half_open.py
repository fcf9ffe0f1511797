"""Connections that only wait for their client: real socket pairs, times as numbers."""

import socket

import pytest

from app.foundation.half_open import HALF_OPEN_MAX, HALF_OPEN_PER_ADDRESS_MAX, REQUEST_TIMEOUT_S, HalfOpenConnections


class Clients:
    """Connections to one server; the server's ends wait in ``half_open``."""

    def __init__(self):
        self.half_open = HalfOpenConnections()
        self.servers, self._clients = [], []

    def connect(self, address, since_s):
        server, client = socket.socketpair()
        client.setblocking(False)
        self.servers.append(server)
        self._clients.append(client)
        self.half_open.wait_for(server, address, since_s)

    @property
    def cut(self):
        """The numbers of those that were cut, in the order in which they came."""
        return [number for number, client in enumerate(self._clients) if _has_ended(client)]

    def close(self):
        for end in (*self.servers, *self._clients):
            end.close()


def _has_ended(client):
    try:
        return client.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False


@pytest.fixture
def clients():
    clients = Clients()
    yield clients
    clients.close()


def test_one_address_cuts_its_own_oldest_connection_and_no_others(clients):
    clients.connect("10.0.0.9", 0)
    for number in range(HALF_OPEN_PER_ADDRESS_MAX + 2):
        clients.connect("10.0.0.1", 1 + number)
    assert clients.cut == [1, 2]


def test_with_many_addresses_the_oldest_of_all_is_cut(clients):
    for number in range(HALF_OPEN_MAX + 2):
        clients.connect(f"10.0.{number // 8}.1", HALF_OPEN_MAX - number if number < HALF_OPEN_MAX else number)
    assert clients.cut == [HALF_OPEN_MAX - 2, HALF_OPEN_MAX - 1]


def test_a_connection_whose_request_is_there_is_never_cut(clients):
    clients.connect("10.0.0.1", 0)
    clients.half_open.done(clients.servers[0])
    clients.half_open.cut_overdue(1_000)
    assert not clients.half_open.cut_oldest()
    assert clients.cut == []


def test_a_request_has_one_deadline_however_often_a_byte_of_it_comes(clients):
    clients.connect("10.0.0.1", 0)
    clients.half_open.cut_overdue(REQUEST_TIMEOUT_S - 0.1)
    assert clients.cut == []
    clients.half_open.cut_overdue(REQUEST_TIMEOUT_S)
    assert clients.cut == [0]


def test_places_of_an_address_come_back(clients):
    for number in range(3 * HALF_OPEN_PER_ADDRESS_MAX):
        clients.connect("10.0.0.1", number)
        clients.half_open.done(clients.servers[-1])
    assert clients.cut == []
