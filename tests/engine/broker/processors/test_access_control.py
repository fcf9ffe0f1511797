"""A broker with ``aclEnable``: who gets through, who does not, and how the rules change while it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager

import pytest

from engine.acl.guess_limit import WRONG_AT_ONCE
from engine.broker.broker import ACL_WATCH_INTERVAL_MS, Broker
from engine.broker.delivery.dead_letter import ResendTo
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.errors import BrokerConfigRefused
from engine.broker.processors import access_guard
from engine.broker.transactions.half_message_lookup import HalfMessageAction
from engine.client.callbacks.acl_client_rpc_hook import AclClientRPCHook, SessionCredentials
from engine.protocol.command.acl_headers import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.json_text import loads_json_object
from engine.protocol.message.message import Message
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import TRANSACTION_PREPARED_TYPE
from engine.runtime.lab.lab_runtime import LabMachines
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab

RULES_FILE = "config/plain_acl.yml"
RULES = """\
accounts:
  - accessKey: admin-key
    secretKey: admin-secret
    admin: true
  - accessKey: shop-key
    secretKey: shop-secret
    defaultTopicPerm: DENY
    defaultGroupPerm: DENY
    topicPerms:
      - T=PUB
      - news=SUB
    groupPerms:
      - readers=SUB
"""


class GuardedLab(BrokerLab):
    """A lab whose broker has rules."""

    def _start_broker(self):
        self.write_rules(RULES)
        return super()._start_broker()

    def write_rules(self, text: str) -> None:
        self.world.node("broker-a").disk.write_whole(RULES_FILE, text.encode())

    def signing_client(self, key: str, name: str = "") -> LabClient:
        client = self.client(name or key)
        hook = AclClientRPCHook(SessionCredentials(f"{key}-key", f"{key}-secret"))
        client.remoting._request_hook = hook
        return client


@contextmanager
def guarded_lab():
    lab = GuardedLab(BrokerConfig(acl_enable=True))
    try:
        yield lab
    finally:
        lab.world.close()


def refusal(reply: RemotingCommand) -> str:
    assert reply.code == ResponseCode.SYSTEM_ERROR, (reply.code, reply.remark)
    assert reply.remark is not None and reply.remark.startswith("AclException: ")
    return reply.remark.removeprefix("AclException: ")


def test_a_request_without_a_signature_is_refused_whatever_it_asks_for() -> None:
    with guarded_lab() as lab:
        client = lab.client()
        assert refusal(client.send("T")) == "No accessKey is configured"
        for address in (lab.broker.address, lab.broker.vip_channel.address):
            for code in (RequestCode.GET_MAX_OFFSET, RequestCode.LOCK_BATCH_MQ, 9_999):
                assert refusal(client.call(code, address=address)) == "No accessKey is configured"
        assert lab.broker.access_guard.refused_requests == 7


def test_a_wrong_secret_and_an_unknown_account_are_refused() -> None:
    with guarded_lab() as lab:
        client = lab.client()
        client.remoting._request_hook = AclClientRPCHook(SessionCredentials("shop-key", "not-the-secret"))
        assert refusal(client.send("T")) == "Check signature failed for accessKey=shop-key"
        client.remoting._request_hook = AclClientRPCHook(SessionCredentials("nobody", "shop-secret"))
        assert refusal(client.send("T")) == "No acl config for nobody"


def test_an_address_that_guesses_a_secret_key_is_slowed_and_who_is_known_is_not() -> None:
    with guarded_lab() as lab:
        known = lab.signing_client("shop", "office")
        assert lab.signing_client("admin").create_topic("T").code == ResponseCode.SUCCESS
        assert known.send("T").code == ResponseCode.SUCCESS
        guessing = lab.signing_client("shop", "office")

        def guess(secret: str) -> str | None:
            guessing.remoting._request_hook = AclClientRPCHook(SessionCredentials("shop-key", secret))
            reply = guessing.send("T")
            return None if reply.code == ResponseCode.SUCCESS else refusal(reply)

        lab.run_for(1_000)
        began_us = lab.world.loop.now_us
        answers = [guess(f"guess-{number}") for number in range(200)]
        seconds = (lab.world.loop.now_us - began_us) // 1_000_000
        looked_at = answers.count("Check signature failed for accessKey=shop-key")
        assert WRONG_AT_ONCE <= looked_at <= WRONG_AT_ONCE + seconds + 1
        assert guess("shop-secret") == "too many wrong signatures from this address: one per second is checked"
        # The account goes on where it is known, and so do others and other addresses.
        assert known.send("T").code == ResponseCode.SUCCESS
        assert lab.signing_client("admin", "office").send("T").code == ResponseCode.SUCCESS
        assert lab.signing_client("shop", "elsewhere").send("T").code == ResponseCode.SUCCESS
        lab.run_for(1_000)
        assert guess("shop-secret") is None


def test_a_body_that_was_changed_on_the_way_is_refused() -> None:
    with guarded_lab() as lab:
        client = lab.client()
        sign = AclClientRPCHook(SessionCredentials("shop-key", "shop-secret"))
        request = client.send_request("T", Message("T", b"100 euros"))
        sign(request)
        request.body = b"999 euros"
        assert refusal(client.exchange(request)) == "Check signature failed for accessKey=shop-key"


def test_an_account_may_do_what_its_rules_say_and_no_more() -> None:
    with guarded_lab() as lab:
        admin, shop = lab.signing_client("admin"), lab.signing_client("shop")
        assert admin.create_topic("T").code == ResponseCode.SUCCESS
        assert admin.create_topic("news").code == ResponseCode.SUCCESS
        assert shop.send("T").code == ResponseCode.SUCCESS
        assert refusal(shop.send("news")) == "No default permission for topic:news"
        assert refusal(shop.send("other")) == "No default permission for topic:other"
        assert shop.heartbeat("readers", {"news": "*"}).code == ResponseCode.SUCCESS
        assert shop.pull("news", group="readers").code == ResponseCode.PULL_NOT_FOUND
        assert refusal(shop.pull("T", group="readers")) == "No default permission for topic:T"
        assert refusal(shop.pull("news", group="others")) == "No default permission for group:others"
        assert refusal(shop.heartbeat("others", {"news": "*"})) == "No default permission for group:others"


def test_a_name_without_end_is_not_given_back_nor_kept() -> None:
    with guarded_lab() as lab:
        shop = lab.signing_client("shop")
        assert len(refusal(shop.send("x" * 100_000))) < 400
        nobody = lab.client()
        nobody.remoting._request_hook = AclClientRPCHook(SessionCredentials("y" * 100_000, "not-the-secret"))
        assert len(refusal(nobody.send("T"))) < 400


def test_requests_of_administrators_need_an_admin() -> None:
    with guarded_lab() as lab:
        shop = lab.signing_client("shop")
        wanted = "Need admin permission for request code={}, but accessKey=shop-key is not"
        assert refusal(shop.create_topic("T")) == wanted.format(17)
        header = DeleteAccessConfigRequestHeader("admin-key")
        assert refusal(shop.call(RequestCode.DELETE_ACL_CONFIG, header)) == wanted.format(51)
        for code in (25, 200, 207, 215, 50, 53):
            assert refusal(shop.call(code)) == wanted.format(code)
        assert lab.broker.permission_manager.rules.accounts.keys() == {"admin-key", "shop-key"}


def test_a_batch_and_a_retry_topic_are_no_way_around_the_rules() -> None:
    with guarded_lab() as lab:
        shop = lab.signing_client("shop")
        batch = shop.send_request("news", Message("news", b"x"))
        batch.code = RequestCode.SEND_BATCH_MESSAGE
        assert refusal(shop.exchange(batch)) == "No default permission for topic:news"
        assert refusal(shop.send("%RETRY%others", group="readers")) == "No default permission for group:others"


def test_an_accounts_white_address_makes_its_signature_needless_and_a_global_one_the_account() -> None:
    with guarded_lab() as lab:
        client = lab.client("client")
        ip = lab.world.node("client").identity.host_ip
        with_white_address = RULES.replace(
            "secretKey: shop-secret", f"secretKey: shop-secret\n    whiteRemoteAddress: {ip}"
        )
        lab.write_rules(with_white_address)
        lab.run_for(ACL_WATCH_INTERVAL_MS)
        request = client.send_request("T", Message("T", b"x"))
        request.ext_fields["AccessKey"] = "shop-key"
        assert client.exchange(request).code == ResponseCode.SUCCESS
        assert refusal(client.send("T")) == "No accessKey is configured"
        lab.write_rules(f"globalWhiteRemoteAddresses: ['{ip}']\n" + RULES)
        lab.run_for(ACL_WATCH_INTERVAL_MS)
        assert client.send("T").code == ResponseCode.SUCCESS


def test_a_changed_file_is_in_force_within_five_seconds_and_a_bad_one_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with guarded_lab() as lab:
        shop = lab.signing_client("shop")
        assert refusal(shop.send("other"))
        lab.write_rules(RULES.replace("- T=PUB", "- other=PUB"))
        lab.run_for(ACL_WATCH_INTERVAL_MS)
        assert shop.send("other").code == ResponseCode.SUCCESS
        lab.write_rules(RULES.replace("- T=PUB", "- other=EVERYTHING"))
        lab.run_for(3 * ACL_WATCH_INTERVAL_MS)
        assert shop.send("other").code == ResponseCode.SUCCESS
        said = [record.getMessage() for record in caplog.records if "stay in force" in record.getMessage()]
        assert len(said) == 1 and "topicPerms[0] is 'EVERYTHING'" in said[0]
        lab.write_rules(RULES)
        lab.run_for(ACL_WATCH_INTERVAL_MS)
        assert refusal(shop.send("other"))


def test_rules_that_vanish_stay_in_force_until_they_are_back() -> None:
    with guarded_lab() as lab:
        shop = lab.signing_client("shop")
        disk = lab.world.node("broker-a").disk
        disk.remove(RULES_FILE)
        lab.run_for(ACL_WATCH_INTERVAL_MS)
        manager = lab.broker.permission_manager
        assert manager.problem is not None and refusal(shop.send("other"))
        lab.write_rules(RULES)
        lab.run_for(ACL_WATCH_INTERVAL_MS)
        assert manager.problem is None


def change(lab: GuardedLab, code: int, header: object) -> RemotingCommand:
    return lab.signing_client("admin", f"admin of {code} {header}").call(code, header)


def test_an_admin_adds_changes_and_deletes_accounts_and_the_file_has_it_all() -> None:
    with guarded_lab() as lab:
        admin, audit = lab.signing_client("admin"), lab.signing_client("audit")
        header = CreateAccessConfigRequestHeader("audit-key", "audit-secret", topic_perms="T=SUB,news=SUB")
        assert refusal(audit.send("T")) == "No acl config for audit-key"
        assert admin.call(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, header).code == ResponseCode.SUCCESS
        assert refusal(audit.send("T")) == "No default permission for topic:T"
        header = CreateAccessConfigRequestHeader("audit-key", default_group_perm="SUB", topic_perms="T=PUB|SUB")
        assert admin.call(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, header).code == ResponseCode.SUCCESS
        assert audit.send("T").code == ResponseCode.SUCCESS
        reply = admin.call(RequestCode.GET_BROKER_CLUSTER_ACL_INFO)
        version = GetBrokerAclConfigResponseHeader.decode(reply.ext_fields)
        assert loads_json_object(version.version.encode(), "version")["counter"] == 2
        assert version.broker_name == "broker-a"
        lab.world.crash("broker-a", True)
        lab.world.restart("broker-a")
        lab.broker = BrokerLab._start_broker(lab)
        again = lab.signing_client("audit", "again")
        assert again.send("T").code == ResponseCode.SUCCESS
        gone = DeleteAccessConfigRequestHeader("audit-key")
        admin = lab.signing_client("admin", "admin again")
        assert admin.call(RequestCode.DELETE_ACL_CONFIG, gone).code == ResponseCode.SUCCESS
        assert refusal(again.send("T")) == "No acl config for audit-key"


@pytest.mark.parametrize(
    ("code", "header", "failed", "words"),
    [
        (50, CreateAccessConfigRequestHeader("new-account"), 209, "secretKey: is missing; allowed: a text of 7 to"),
        (50, CreateAccessConfigRequestHeader("shop-key", topic_perms="T"), 209, "write name=permission"),
        (51, DeleteAccessConfigRequestHeader("nobody-key"), 210, "no account with accessKey 'nobody-key'"),
        (53, UpdateGlobalWhiteAddrsConfigRequestHeader("10.0.0"), 211, "not a white address"),
    ],
)
def test_a_change_that_cannot_be_is_refused_and_changes_nothing(
    code: int, header: object, failed: int, words: str
) -> None:
    with guarded_lab() as lab:
        reply = change(lab, code, header)
        assert reply.code == failed and words in (reply.remark or "")
        assert lab.world.node("broker-a").disk.read_whole(RULES_FILE).decode() == RULES


def test_a_file_that_somebody_is_writing_by_hand_is_not_overwritten() -> None:
    with guarded_lab() as lab:
        lab.write_rules("accounts: [half of a")
        reply = change(lab, 53, UpdateGlobalWhiteAddrsConfigRequestHeader("10.0.0.1"))
        assert reply.code == 211 and "must be corrected first" in (reply.remark or "")
        assert lab.world.node("broker-a").disk.read_whole(RULES_FILE) == b"accounts: [half of a"


def test_white_addresses_of_all_are_replaced_on_request() -> None:
    with guarded_lab() as lab:
        ip = lab.world.node("stranger").identity.host_ip
        stranger = lab.client("stranger")
        assert refusal(stranger.send("T"))
        header = UpdateGlobalWhiteAddrsConfigRequestHeader(f"10.1.1.1, {ip}")
        assert change(lab, 53, header).code == ResponseCode.SUCCESS
        assert stranger.send("T").code == ResponseCode.SUCCESS


@pytest.mark.parametrize("code", [50, 51, 52, 53])
def test_without_acl_nothing_is_checked_and_the_rules_requests_say_so(code: int) -> None:
    headers: dict[int, Callable[[], object]] = {
        50: lambda: CreateAccessConfigRequestHeader("shop-key", "shop-secret"),
        51: lambda: DeleteAccessConfigRequestHeader("shop-key"),
        52: lambda: None,
        53: lambda: UpdateGlobalWhiteAddrsConfigRequestHeader("*"),
    }
    with broker_lab() as lab:
        client = lab.client()
        client.remoting._request_hook = AclClientRPCHook(SessionCredentials("", "whatever"))
        assert client.send("T").code == ResponseCode.SUCCESS
        reply = client.call(code, headers[code]())
        assert reply.code != ResponseCode.SUCCESS and "aclEnable is off" in (reply.remark or "")


def test_a_broker_does_not_start_without_the_rules_it_is_configured_with() -> None:
    world = LabMachines(seed=1)
    broker = Broker(world.node("broker-a"), BrokerConfig(acl_enable=True))
    try:
        with pytest.raises(BrokerConfigRefused, match=r"aclEnable is on, but there are no rules: .*plain_acl.yml"):
            world.run(broker.start(), node="broker-a")
    finally:
        world.close()


def test_whoever_runs_the_broker_resends_dead_letters_without_an_account() -> None:
    with guarded_lab() as lab:
        admin = lab.signing_client("admin")
        admin.create_topic("T")
        admin.send("T", properties={"UNIQ_KEY": "U"})
        (message,) = admin.messages()
        assert admin.send_back(message, delay_level=-1).code == ResponseCode.SUCCESS
        administrator = lab.broker.dead_letter_administrator
        resent = lab.world.run(administrator.resend("consumers", "U", ResendTo.GROUP), node="broker-a")
        assert resent.topic == "%RETRY%consumers"
        assert lab.broker.access_guard.refused_requests == 0


def test_whoever_runs_the_broker_decides_half_messages_without_an_account() -> None:
    with guarded_lab() as lab:
        admin = lab.signing_client("admin")
        admin.create_topic("T")
        properties = {"UNIQ_KEY": "U", "TRAN_MSG": "true", "PGROUP": "p"}
        assert admin.send("T", sys_flag=TRANSACTION_PREPARED_TYPE, properties=properties).code == ResponseCode.SUCCESS
        lab.world.run(lab.broker.half_message_administrator.act(HalfMessageAction.COMMIT, "U"), node="broker-a")
        lab.run_for(1)
        assert [message.unique_id for message in admin.messages()] == ["U"]


def test_a_refusal_is_said_once_and_refusals_without_end_are_not_remembered(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_guard, "_LOGGED_MAX", 3)
    with guarded_lab() as lab:
        client = lab.client()
        for number in range(20):
            client.remoting._request_hook = AclClientRPCHook(SessionCredentials(f"nobody-{number}", "a-secret"))
            for _ in range(2):
                assert refusal(client.send("T"))
            assert lab.broker.access_guard is not None and len(lab.broker.access_guard._logged) <= 3
        assert len([record for record in caplog.records if "refused: AclException" in record.getMessage()]) == 20
