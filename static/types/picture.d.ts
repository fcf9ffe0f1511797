// The schema of what the pages show, as types for checked modules. Generated from app/picture by
// `python -m scripts.generated_documents`.

declare namespace Picture {
  type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

  /** The time of a picture. */
  interface Now {
    /** To the second: a finer time would make every picture a new one. */
    now_us: number;
  }

  /** Names, addresses and settings of the live broker. */
  interface Cluster extends Now {
    name_server: string;
    broker_name: string;
    broker_address: string;
    cluster_name: string;
    /** Version of GlassMQ. */
    version: string;
    started_us: number;
    /** "async" or "sync". */
    flush: string;
    data_folder: string;
  }

  /** One file of the commit log. */
  interface LogFile {
    name: string;
    size: number;
    /** Offset of its first byte. */
    start: number;
  }

  /** A message that is damaged on the disk, and therefore not sent. */
  interface DamagedPlace {
    /** In the commit log. */
    offset: number;
    /** What is wrong with it. */
    kind: string;
    topic: string;
    queue_id: number;
    queue_offset: number;
  }

  /** The walk through old files that searches for damage. */
  interface DamageCheck {
    is_walking: boolean;
    checked_bytes: number;
    total_bytes: number;
    /** When it last reached the end; None: never. */
    walked_ms: number | null;
  }

  /** What is known of damaged messages. */
  interface Damage {
    count: number;
    /** Whether there are more than the broker keeps. */
    is_full: boolean;
    /** The newest ones. */
    places: DamagedPlace[];
    check: DamageCheck;
  }

  /** The part of the commit log that the health rules need. */
  interface DamageOfLog {
    damage: Damage;
  }

  /** The commit log. */
  interface CommitLog extends DamageOfLog {
    min_offset: number;
    max_offset: number;
    /** Everything before it is on the disk. */
    flushed_offset: number;
    /** Everything before it is in the consume queues. */
    dispatched_offset: number;
    /** The last ones. */
    files: LogFile[];
    file_count: number;
    /** The newest records, newest last. */
    tail: RecordSummary[];
  }

  /** One connection; the picture has them by remote address. */
  interface Connection {
    client_ids: string[];
    /** None before the first frame. */
    language: string | null;
    version: number;
    /** "producer", "consumer" or both; ["admin"] without a heartbeat. */
    role: string[];
    producer_groups: string[];
    consumer_groups: string[];
    frames_in: number;
    frames_out: number;
    bytes_in: number;
    bytes_out: number;
    /** Bytes that the client has not read yet. */
    unsent_bytes: number;
  }

  /** A member of a group, as its heartbeat and its connection describe it. */
  interface Member {
    /** Remote address of its connection. */
    address: string;
    language: string;
    version: number;
  }

  /** What a group wants of a topic, and what the broker's filter did with the topic's messages so far. */
  interface Subscription {
    expression: string;
    /** "TAG" or "SQL92". */
    type: string;
    /** Grows with each change. */
    version: number;
    let_through: number;
    kept_back: number;
  }

  /** A pull that found nothing and waits at the broker. */
  interface HeldPull {
    topic: string;
    queue_id: number;
    /** The offset that it waits for. */
    offset: number;
    since_us: number;
    /** How long it waits at most. */
    timeout_ms: number;
    /** None once its group has no members. */
    client_id: string | null;
  }

  /** How far a group is, and what its members do at the broker. */
  interface GroupProgress {
    /** Messages that the group has not confirmed; None: it broadcasts. */
    lag: number | null;
    /** Topic -> queue id -> id of the client that pulled last: clients decide the assignment, the broker sees the pulls. */
    assignment: Record<string, Record<string, string>>;
    /** "topic@queue id" -> pull. */
    held_pulls: Record<string, HeldPull>;
  }

  /** A consumer group of the live broker. */
  interface ConsumerGroup extends GroupProgress {
    /** How many groups existed before it. */
    age: number;
    /** None while no member is online, like the next two; that a group broadcasts is remembered. */
    consume_type: string | null;
    message_model: string | null;
    consume_from_where: string | null;
    /** Client id -> member. */
    members: Record<string, Member>;
    omitted_members: number;
    /** Topic -> subscription. */
    subscriptions: Record<string, Subscription>;
  }

  /** How a member consumes a topic; what it does not report is None. */
  interface TopicRates {
    ok_per_s: number | null;
    failed_per_s: number | null;
    rt_ms: number | null;
    /** In the last hour. */
    failed: number | null;
  }

  /** What a member reports of its idempotent listener. */
  interface IdempotenceReport {
    strategy: string;
    scope: string;
    /** What identifies a message. */
    key: string;
    expiry_ms: number;
    when_unreachable: string;
    /** Names of ``engine.idempotence.foundation.counters``. */
    counters: Record<string, number>;
  }

  /** What a member reports of itself (code 307); a value that its kind of client does not report is None. */
  interface RunningInfo {
    orderly: boolean | null;
    threads: number | null;
    started_us: number | null;
    /** How it assigns queues. */
    strategy: string;
    suspended: boolean | null;
    /** How many queues wait for the end of a reset. */
    queues_in_reset: number | null;
    /** Why the offsets of a broadcasting member cannot be written. */
    offsets_failure: string;
    /** None without an idempotent listener. */
    idempotence: IdempotenceReport | null;
    /** By topic. */
    rates: Record<string, TopicRates>;
    queues: ProcessQueue[];
    omitted_queues: number;
    /** What its kind of client does not report of queues: "trees", "counts", "times". */
    untold: string[];
  }

  /** A member of a live group, and its last answer. */
  interface MemberReport extends RunningInfo {
    client_id: string;
    address: string;
    language: string;
    version: number;
    /** See ``app.live.client_questions.AnswerState``; or "unreadable". */
    state: string;
    /** None: it was not asked yet. */
    asked_us: number | null;
    /** None: it has reported nothing. */
    answered_us: number | null;
    /** Why it has reported nothing. */
    remark: string;
  }

  /** A message that a group will get again. */
  interface WaitingRetry {
    key: string;
    /** Its first one. */
    topic: string;
    queue_id: number;
    queue_offset: number;
    /** In the commit log. */
    offset: number;
    /** How many times it was given back. */
    retries: number;
    /** None: it can be pulled. */
    due_us: number | null;
  }

  /** What the members of a live group report, and what the group will get again. */
  interface GroupReport {
    group: string;
    now_us: number;
    members: MemberReport[];
    omitted_members: number;
    /** Those that are due first. */
    retries: WaitingRetry[];
    /** False: some messages that wait were not read. */
    are_all_retries: boolean;
  }

  /** A group that has or had dead letters. */
  interface DeadLetterGroup {
    group: string;
    /** How many are kept. */
    count: number;
    /** Number of the oldest one; with one queue that is the queue offset. */
    min: number;
    /** Number of the next one to come: how many the group had before. */
    max: number;
    /** None when the time is not known. */
    newest_ms: number | null;
  }

  /** Where a dead letter was resent to. */
  interface ResentPlace {
    topic: string;
    queue_id: number;
    queue_offset: number;
  }

  /** The message that a dead letter of the live broker was resent as. */
  interface ResentAs extends ResentPlace {
    /** In the commit log. */
    offset: number;
    at_ms: number;
  }

  /** The message that a dead letter of a lab broker was resent as. */
  interface WorldResentAs extends ResentPlace {
    at_us: number;
  }

  /** A dead letter of the live broker. */
  interface DeadLetter {
    queue_id: number;
    queue_offset: number;
    /** In the commit log. */
    offset: number;
    /** Offset message id: by it, it is resent. */
    id: string;
    unique_id: string | null;
    keys: string[];
    tags: string | null;
    /** Its first one; None where that is not known. */
    topic: string | null;
    /** How many times it was delivered again. */
    retries: number;
    /** See ``engine.broker.delivery.dead_letter.DeathCause``. */
    cause: string;
    born_ms: number;
    born_host: string;
    dead_ms: number;
    body_preview: string;
    body_bytes: number;
    properties: Record<string, string>;
    resent: ResentAs | null;
    /** False where there is no index to find that with. */
    resent_known: boolean;
  }

  /** Some dead letters of a group. */
  interface DeadLetterPage {
    group: DeadLetterGroup;
    /** Number of the first message. */
    start: number;
    messages: DeadLetter[];
  }

  /** Why a dead letter was not resent. */
  interface Refusal {
    error: string;
    reason: string;
    /** By language. */
    text: Record<string, string>;
  }

  /** A dead letter that was not resent. */
  interface FailedDeadLetter extends Refusal {
    id: string;
  }

  /** A dead letter that was resent. */
  interface ResentDeadLetter extends ResentPlace {
    id: string;
  }

  /** What became of resending. */
  interface ResendReport {
    resent: ResentDeadLetter[];
    /** How many were resent before and left alone. */
    already: number;
    failed: FailedDeadLetter[];
    failed_omitted: number;
    /** Number to go on from; None: done. */
    next: number | null;
  }

  /** A dead letter of a lab broker. Its log is never rewritten: it stays here when it is resent. */
  interface WorldDeadLetter {
    key: string;
    /** Offset message id: by it, it is resent. */
    id: string;
    unique_id: string;
    /** Its first one. */
    topic: string;
    /** In the commit log. */
    offset: number;
    queue_id: number;
    queue_offset: number;
    /** How many times it was given back. */
    retry: number;
    dead_us: number;
    /** Result of the last call of a listener with it; None: it is not known. */
    why: string | null;
    resent: WorldResentAs | null;
  }

  /** The dead letters of a group of a lab broker. */
  interface WorldDeadLetters {
    count: number;
    /** The newest ones, oldest first. */
    messages: WorldDeadLetter[];
  }

  /** A level and its queue. */
  interface DelayLevel {
    level: number;
    delay_ms: number;
    queue_id: number;
    min: number;
    max: number;
    /** Of the next message to be delivered. */
    offset: number;
    waiting: number;
    /** When the next message is due; None: nothing waits. */
    next_due_us: number | null;
  }

  /** The levels. */
  interface DelayLevels {
    /** The delay of level 1, 2, 3 ... (``messageDelayLevel``). */
    delays_ms: number[];
    /** Those that were ever used. */
    levels: DelayLevel[];
  }

  /** One frame. */
  interface Frame {
    /** In the order of sending, from 1. */
    id: number;
    source: string;
    target: string;
    /** "request", "response", or another kind of parcel. */
    kind: string;
    /** None without one. */
    code: number | null;
    name: string;
    /** What it does, in a word; empty where the name says it. */
    action?: string;
    oneway: boolean;
    /** ``id`` of the request that it answers; None: it is a request, or its request is not kept. */
    reply_to: number | null;
    reply_to_name?: string | null;
    /** In bytes. */
    size: number;
    sent_us: number;
    /** Of the first copy. */
    arrives_us: number;
    dropped: boolean;
    /** How far it comes if it is dropped: 0 to 1. */
    lost_share?: number;
    copies: number;
  }

  /** A field of a frame with its bytes. */
  interface FrameTreeField {
    name: string;
    value: string;
    /** In the frame's bytes; -1: it was compressed and has none. */
    position: number;
    /** In bytes. */
    length: number;
    children: FrameTreeField[];
    /** How many children are left out. */
    omitted: number;
  }

  /** A frame with its bytes. */
  interface FrameBytes extends Frame {
    /** The beginning. */
    hex: string;
    hex_omitted_bytes: number;
    /** Of the header of a command: name -> value. */
    fields: Record<string, string>;
    /** Why it cannot be decoded. */
    problem: string | null;
  }

  /** Header and body of a command of RocketMQ. */
  interface CommandPart {
    opaque: number;
    flag: number;
    language: number;
    version: number;
    remark: string | null;
    serialize_type: string;
    fields: Record<string, string>;
    /** Positions in the frame's bytes. */
    header_start: number;
    body_start: number;
    body_bytes: number;
    /** Its beginning. */
    body_text: string;
  }

  /** A frame of RocketMQ. */
  interface CommandFrame extends FrameBytes, CommandPart {
  }

  /** A frame between replicas. */
  interface ReplicaFrame extends FrameBytes {
    tree: FrameTreeField[];
  }

  /** A frame of Kafka that cannot be decoded further. */
  interface KafkaFrameHead extends FrameBytes {
    correlation_id: number;
  }

  /** A frame of Kafka. */
  interface KafkaFrame extends KafkaFrameHead {
    tree: FrameTreeField[];
  }

  /** Everything about a frame. */
  type FrameDetail = FrameBytes | CommandFrame | ReplicaFrame | KafkaFrameHead | KafkaFrame;

  /** What was decided about a transaction. */
  type Outcome = "committed" | "rolled-back";

  /** What a half message and a given-up message have in common, but for times. */
  interface HalfMessageNames {
    /** Of the queue that it is stored in. */
    queue_offset: number;
    /** In the commit log. */
    offset: number;
    /** By it, the message is decided by hand. */
    id: string;
    key: string;
    /** Where it will go; empty when its properties do not say so. */
    topic: string;
    /** -1 when its properties do not say so. */
    queue_id: number;
    /** The producer's. */
    group: string;
    /** How many check-backs it has had. */
    check_times: number;
  }

  /** What a half message and a given-up message have in common. */
  interface StoredHalfMessage extends HalfMessageNames {
    born_us: number;
  }

  /** What never changes of a half message. */
  interface FixedHalfMessage extends StoredHalfMessage {
    /** No check-back before that. */
    ask_from_us: number;
  }

  /** A half message. */
  interface HalfMessage extends FixedHalfMessage {
    /** Queue offset of the op message that decides it; None: undecided. */
    decided_by: number | null;
    /** What was decided; None: undecided, or there is no index to find the committed message with. */
    outcome: Outcome | null;
  }

  /** A message that the broker gave up: in TRANS_CHECK_MAX_TIME_TOPIC. */
  interface GivenUpMessage extends StoredHalfMessage {
    given_up_us: number;
    /** Queue offset of the half message that it became again, or None. */
    checked_again: number | null;
  }

  /** The half messages of a broker, with offsets, counts and settings of its check service. */
  interface Transactions {
    /** Where the next round of the check service begins, in the half queue. */
    half_offset: number;
    half_end: number;
    /** The same for the op queue. */
    op_offset: number;
    op_end: number;
    /** Check-backs to producers since the broker started. */
    checks_sent: number;
    /** Half messages given up since then. */
    discarded: number;
    time_out_ms: number;
    check_interval_ms: number;
    check_max: number;
    /** How many messages TRANS_CHECK_MAX_TIME_TOPIC has had. */
    given_up_end: number;
    /** When the check service walks along the half queue again. */
    next_round_us: number;
    /** The newest half messages from ``half_offset`` on, oldest first. */
    messages: HalfMessage[];
    /** The newest ones, oldest first. */
    given_up: GivenUpMessage[];
  }

  /** One fault, and since when it is reported. */
  interface HealthClause {
    /** Name of the rule that found it. */
    rule: string;
    /** "warning" or "broken". */
    level: string;
    /** The panel that shows more about it. */
    panel: string;
    subject: string;
    group: string | null;
    since_ms: number;
    /** By language. */
    text: Record<string, string>;
  }

  /** What is not well. */
  interface Health {
    /** "well", or the worst level of the clauses. */
    level: string;
    /** All of it in one line, by language. */
    text: Record<string, string>;
    /** The worst first. */
    clauses: HealthClause[];
    omitted: number;
  }

  /** What becomes of a backlog. */
  interface BacklogOutlook {
    /** "growing", "gone" and others: see ``app.watch.backlogs.BacklogTrend``. */
    kind: string;
    /** Of kind "gone": until it is. */
    left_ms?: number | null;
  }

  /** Group -> topic (empty: all topics) -> outlook. */
  type BacklogOutlooks = Record<string, Record<string, BacklogOutlook>>;

  /** A rule: see ``engine.faults.fault_rule``. */
  interface LiveFaultRule {
    what: string;
    frame: string;
    direction: string;
    client: string;
    topic: string;
    group: string;
    key: string;
    ms: number;
    code: string;
    times: number;
    every: number;
    ratio: number;
    seed: number;
    for_ms: number;
    rule_id: number;
    made_ms: number;
    /** How many frames matched. */
    seen: number;
    /** On how many it acted. */
    hits: number;
    /** It will not act any more. */
    is_spent: boolean;
    /** None: it has no end. */
    ends_in_ms: number | null;
  }

  /** A frame on which a rule acted. */
  interface FaultHit {
    at_ms: number;
    rule: number;
    what: string;
    client: string;
    direction: string;
    /** Its name. */
    frame: string;
  }

  /** A frame that waits for a decision. */
  interface HeldFrame {
    id: number;
    /** The rule that holds it. */
    rule: number;
    /** Its sender, or the client that it goes to. */
    client: string;
    direction: string;
    name: string;
    /** What it does, by language. */
    meaning: Words;
    topics: string[];
    groups: string[];
    keys: string[];
    waiting_ms: number;
    /** How long its client waits for an answer; None: it does not wait. */
    timeout_ms: number | null;
    opaque: number;
    code: number;
    is_oneway: boolean;
    remark: string | null;
    header: Record<string, string>;
    /** Of a message that it sends; else None. */
    properties: Record<string, string> | null;
    /** The beginning, like the next. */
    body: string;
    body_hex: string;
    body_bytes: number;
    frame_bytes: number;
  }

  /** The faults of the machines. */
  interface BrokenMachines {
    broker_crashed: boolean;
    name_server_crashed: boolean;
    disk_full: boolean;
    flush_ms: number;
    flushes_fail: boolean;
    broker_lock_off: boolean;
    /** Groups without the broker's lock. */
    groups_off: string[];
  }

  /** What is recorded. */
  interface FrameRecordState {
    client: string;
    bodies: boolean;
    count: number;
    started_ms: number;
  }

  /** The same, while the engine runs. */
  interface FrameRecordNow extends FrameRecordState {
    is_on: boolean;
  }

  /** The active faults. */
  interface ActiveFaults {
    is_active: boolean;
    now_ms: number;
    /** Its name. */
    broker: string;
    clock_ahead_ms: number;
    broken: BrokenMachines;
    /** When it was killed; None: it runs. */
    broker_crashed_ms: number | null;
    rules: LiveFaultRule[];
    /** The newest first. */
    hits: FaultHit[];
    /** Those that came first. */
    held: HeldFrame[];
    held_count: number;
    delayed_count: number;
    /** How much longer the held frames wait unless they are viewed. */
    lease_ms: number | null;
    recording: FrameRecordNow | null;
  }

  /** All that is known while the engine is paused. */
  interface PausedEngine {
    is_active: boolean;
    paused_ms: number;
  }

  /** A file of recorded frames. */
  interface FrameFile extends FrameRecordState {
    /** Always "glassmq-frames". */
    format: string;
    version: number;
    /** Its name. */
    broker: string;
    /** Of the frames, in the order of their first one. */
    clients: string[];
    /** Number, microseconds since ``started_ms``, client, direction, the frame in base64, bytes of its body, number of the request that it answers (0: none), what a fault did to it. */
    frames: ((number | string)[])[];
  }

  /** How many connections the picture leaves out. */
  interface OmittedConnections {
    connections: number;
  }

  /** How much the picture leaves out. */
  interface Omitted extends OmittedConnections {
    topics: number;
    /** Users' messages in the topics that are left out. */
    messages: number;
    groups: number;
    /** Pairs of topic and group whose offsets were not read. */
    offset_pairs: number;
  }

  /** What the broker itself knows. */
  interface EngineState {
    cluster: Cluster;
    /** By remote address. */
    connections: Record<string, Connection>;
    topics: Record<string, Topic>;
    groups: Record<string, ConsumerGroup>;
    commit_log: CommitLog;
    /** Group -> "topic@queue id" -> lease. */
    locks: Record<string, Record<string, Lock>>;
    /** None while there was never a half message. */
    transactions: Transactions | null;
    /** None while no message was ever delayed. */
    delay_levels: DelayLevels | null;
    /** None while no producer numbers its messages. */
    numbers: Numbers | null;
    /** None for a broker that has no followers and follows none. */
    replication: Replication | null;
    rates: Rates;
    /** The last lines, oldest first. */
    log: LogLine[];
    omitted: Omitted;
  }

  /** How far the running jobs have read the broker's queues. */
  interface SparkProgress {
    /** Id of the run -> its job. */
    jobs: Record<string, string>;
    /** Topic -> queue id -> id of the run -> next offset. */
    offsets: Record<string, Record<string, Record<string, number>>>;
  }

  /** The whole picture. What members of a group hold is not part of it: they are asked while a page views them. */
  interface LivePicture extends EngineState {
    verdict: Health;
    backlogs: BacklogOutlooks;
    /** The newest, the oldest of them first: what plots mark. */
    events: BrokerEvent[];
    /** Only where the server runs jobs. */
    spark?: SparkProgress;
  }

  /** What the health rules judge once a second: also of groups and connections that a page leaves out. */
  interface HealthFacts {
    cluster: Now;
    connections: Record<string, Connection>;
    omitted: OmittedConnections;
    topics: Record<string, Topic>;
    groups: Record<string, ConsumerGroup>;
    transactions: Transactions | null;
    rates: Rates;
    commit_log: DamageOfLog;
    numbers: Numbers | null;
    replication: Replication | null;
    /** Messages that could not be stored since the broker started. */
    put_failures: number;
    /** Group -> how many dead letters it ever had. */
    dead_letters: Record<string, number>;
    /** Remote address -> bytes that the client has not read yet. */
    unsent: Record<string, number>;
    /** Share of the disk, 0 to 1. */
    disk_used: number;
  }

  /** A lease of a queue in the broker's lock table, which has expired leases until they are replaced. */
  interface Lock {
    topic: string;
    queue_id: number;
    client_id: string;
    /** When it was granted or renewed, by the broker's clock. */
    since_us: number;
    /** How long it lasts without renewal. */
    lease_ms: number;
  }

  /** A lock inside one consumer. */
  interface LocalLock {
    /** Name of the task that holds it; None: it is free. */
    owner: string | null;
    /** How many tasks wait for it. */
    waiters: number;
    /** False: a switch of the lab has turned it off. */
    on: boolean;
  }

  /** One line of the log, cut to what the page shows. */
  interface LogLine {
    ms: number;
    level: string;
    /** Name of the logger. */
    part: string;
    text: string;
  }

  /** How a send failed: it is certainly not stored, or it may be. */
  type FailedSend = "refused" | "unknown";

  /** The kinds of stored copies: :class:`engine.protocol.message.message_copies.CopyKind`. */
  type CopyName = "stored" | "half" | "given-up" | "due" | "dead" | "resent" | "delayed";

  /** The batch that a message travels in. */
  interface ProducedBatch {
    size: number;
    /** Keys. */
    first: string;
    last: string;
  }

  /** It was produced. */
  interface ProducedMark {
    kind: "produced";
    at_us: number;
    event: number;
    node: string;
    batch?: ProducedBatch;
  }

  /** The producer knows that it is not stored, or does not know whether it is. */
  interface SendFailedMark {
    kind: FailedSend;
    at_us: number;
    event: number;
    node: string;
    detail: string;
  }

  /** A copy was stored in a broker's log. */
  interface CopyMark {
    kind: CopyName;
    at_us: number;
    broker: string;
    /** In the commit log. */
    offset: number;
    topic: string;
    queue_id: number;
    queue_offset: number;
    /** How many times it was redelivered before. */
    retry: number;
    /** None: all groups. */
    group: string | null;
    /** Of a delayed one, like the next. */
    level?: number;
    until_us?: number;
    /** Of a resent one. */
    to?: "topic" | "group";
    /** A power cut has taken it. */
    lost?: boolean;
  }

  /** It was delivered to a listener. */
  interface DeliveredMark {
    kind: "delivered";
    at_us: number;
    event: number;
    node: string;
    group: string;
    /** From 1, counted per group. */
    attempt: number;
    retry: number;
    topic: string;
    broker: string;
    queue_id: number;
    queue_offset: number;
    /** None while the listener has it, like the next. */
    until_us: number | null;
    end_event: number | null;
    /** None, the listener's result, "interrupted" (its process ended) or "timed-out" (its consumer has sent it back). */
    result: string | null;
  }

  /** One event of a message's life. */
  type LifeMark = ProducedMark | SendFailedMark | CopyMark | DeliveredMark;

  /** What has become of a message for a group. */
  interface LifeInGroup {
    /** "waiting", "delivering", "consumed", "failed" (and not sent back yet), "delayed", "dead", "filtered" (its subscription does not want it) or "skipped" (the group's offset passed it without a delivery). */
    state: string;
    attempts: number;
    /** Of a delayed one: when it is due; else None. */
    until_us: number | null;
  }

  /** The life of one message. */
  interface MessageLife {
    key: string;
    topic: string;
    /** When it was produced, or first stored. */
    at_us: number;
    /** A failure, a retry, a duplicate, a loss. */
    in_trouble: boolean;
    /** In the order of time. */
    marks: LifeMark[];
    /** How many of the oldest ones are left out. */
    omitted_marks: number;
    groups: Record<string, LifeInGroup>;
  }

  /** The lives of the messages of a world. */
  interface MessageLives {
    /** Messages that the clients know of. */
    total: number;
    in_trouble: number;
    omitted: number;
    /** By key. */
    messages: Record<string, MessageLife>;
  }

  /** Counts of numbers, of one producer or of a topic. */
  interface NumberCounts {
    numbered: number;
    /** Different numbers. */
    stored: number;
    missing: number;
    refused: number;
    /** Missing, and the producer does not know either. */
    unknown: number;
    /** Missing too recently to be judged. */
    open: number;
    twice: number;
    out_of_order: number;
    /** Too many to be kept: not judged. */
    forgotten: number;
  }

  /** The numbers of one producer. */
  interface NumbersOfProducer extends NumberCounts {
    producer: string;
    /** The number from which on it is judged. */
    first: number;
    has_ended: boolean;
    /** The first stretches that are missing: first and last number. */
    ranges: number[][];
    /** The same for those that are unknown. */
    unknown_ranges: number[][];
  }

  /** The numbers of all producers of a topic. */
  interface NumbersOfTopic extends NumberCounts {
    /** Positions that could not be read. */
    unseen: number;
    /** Messages that were read. */
    read: number;
    /** The worst first. */
    producers: NumbersOfProducer[];
    /** Group -> number of the read messages that its offsets have passed. */
    groups: Record<string, number>;
  }

  /** The numbers in all topics that have some. */
  interface Numbers {
    /** A number is missing once a higher number was stored this long ago. */
    settling_ms: number;
    /** Messages of these topics that were not read yet. */
    unread: number;
    /** Messages of producers beyond the bound of the report. */
    no_room: number;
    /** Producers that are not listed; the counts of their topic include them. */
    omitted: number;
    topics: Record<string, NumbersOfTopic>;
  }

  /** The messages of a tree. */
  interface HeldMessages {
    count: number;
    /** Queue offset of the first and of the last one; None: it is not known, or the tree is empty. */
    first: number | null;
    last: number | null;
  }

  /** A process queue of a consumer: as a live one reports it (code 307), or as a lab world has it. A value that the kind of client does not report is None. */
  interface ProcessQueue {
    topic: string;
    broker: string;
    queue_id: number;
    /** The tree of messages that are not consumed yet; its lower levels may be left out. None: it is empty. */
    tree: TreeNode | null;
    /** The tree of messages that an orderly listener has now. */
    consuming_tree: TreeNode | null;
    /** What is in ``tree``. */
    waiting: HeldMessages | null;
    /** What is in ``consuming_tree``. */
    in_hand: HeldMessages | null;
    /** Of both. */
    message_count: number | null;
    /** A live client reports full mebibytes. */
    cached_bytes: number | null;
    /** The member has lost the queue. */
    dropped: boolean | null;
    /** The broker has granted its lock. */
    locked: boolean | null;
    /** When the broker's lock was last granted or renewed. */
    locked_us: number | null;
    /** How long the member trusts it. */
    lock_lease_ms: number | null;
    /** The group's progress as the member knows it; None: not known yet. */
    consume_offset: number | null;
    last_pull_us: number | null;
    last_consume_us: number | null;
    /** Why it is not pulled: "count", "size", "span" or None. */
    flow_control: string | null;
    try_unlock_times: number | null;
    consume_lock: LocalLock | null;
    /** Of an orderly consumer, as the next one. */
    local_lock: LocalLock | null;
    /** Its chain of consume requests runs. */
    consuming: boolean | null;
  }

  /** A process queue of a consumer in a lab world. */
  interface WorldProcessQueue extends ProcessQueue {
    next_pull_offset: number | null;
    pull_in_flight: boolean;
    /** Reason of flow control -> how many times it was the reason. */
    flow_control_times: Record<string, number>;
    /** Since when a worker of an orderly consumer has been at it; None: no worker is. */
    slice_us: number | null;
    /** How long a worker may. */
    slice_ms: number;
  }

  /** The last full second. Percentiles are 0 if nothing was measured in it. */
  interface Rates {
    /** Since 1970. */
    second: number;
    in_messages: number;
    in_bytes: number;
    out_messages: number;
    out_bytes: number;
    put_p50_us: number;
    put_p99_us: number;
    deliver_p50_ms: number;
    deliver_p99_ms: number;
    /** Pulls that were answered with messages. */
    pulls_found: number;
    /** Pulls that found nothing. */
    pulls_missed: number;
    /** The lag of all groups shown. */
    backlog: number;
  }

  /** The values of one measure in each cell of a history; None where nothing was measured. */
  interface Measure {
    min: (number | null)[];
    max: (number | null)[];
    mean: (number | null)[];
  }

  /** A stretch of the history in cells of one width. */
  interface HistoryCells {
    /** Seconds that a cell covers. */
    resolution_s: number;
    /** When each cell begins, since 1970. */
    seconds: number[];
    /** By name: see ``app.watch.history.MEASURES``. */
    measures: Record<string, Measure>;
  }

  /** Something that happened to the live broker; plots mark it. */
  interface BrokerEvent {
    /** By the broker's clock, since 1970. */
    at_us: number;
    /** A rebalance is a change of the members of consumer groups. */
    kind: "start" | "stop" | "fault_on" | "fault_off" | "rebalance";
    /** By language. */
    text: Record<string, string>;
  }

  /** What a page asks for: a stretch, and the events in it. */
  interface History extends HistoryCells {
    events: BrokerEvent[];
  }

  /** One line about a record of the commit log. */
  interface RecordSummary {
    /** In the commit log. */
    offset: number;
    /** Bytes of the record. */
    size: number;
    topic: string;
    queue_id: number;
    queue_offset: number;
    store_ms: number;
    born_ms: number;
    born_host: string;
    tags: string | null;
    keys: string[];
    /** Made by the client; None without one. */
    unique_id: string | null;
    /** Address of the broker and commit-log offset. */
    offset_message_id: string;
    /** The first characters of the body. */
    body_preview: string;
    /** As stored: compressed where it is. */
    body_bytes: number;
    sys_flag: number;
    reconsume_times: number;
    properties_bytes: number;
  }

  /** Name and explanation of a field; in English it has the name of RocketMQ's source. */
  interface FieldText {
    name: string;
    /** None: the same. */
    name_zh: string | null;
    explanation: string;
    explanation_zh: string;
  }

  /** Where a field is, and what it says. */
  interface FieldBytes {
    /** Position in the record. */
    start: number;
    /** In bytes. */
    length: number;
    /** A text also for numbers: a browser's are exact to 2**53 only. */
    value: string;
  }

  /** A field with its bytes. */
  interface RecordField extends FieldText, FieldBytes {
  }

  /** A field without what is the same in all records. */
  interface BareField extends FieldBytes {
    name: string;
  }

  /** Everything about one record but its fields. */
  interface RecordParts {
    record: RecordSummary;
    properties: Record<string, string>;
    crc_matches: boolean;
    /** None when the body is not text. */
    body_text: string | null;
    /** The beginning of the body, decompressed. */
    body_hex: string;
    /** Of the whole body, decompressed. */
    body_bytes: number;
    /** Why it cannot be decompressed. */
    body_problem: string | null;
    /** The beginning of the record. */
    hex: string;
    hex_omitted_bytes: number;
  }

  /** Everything about one record. */
  interface RecordView extends RecordParts {
    /** In their order, without gaps. */
    fields: RecordField[];
  }

  /** The same, without the texts that are the same in all records. */
  interface BareRecordView extends RecordParts {
    fields: BareField[];
  }

  /** One entry of a consume queue: its 20 bytes and three fields. */
  interface QueueEntryView {
    /** In the commit log. */
    offset: number;
    size: number;
    tags_code: string;
    hex: string;
    fields: RecordField[];
  }

  /** A slave of a master, or a follower of a leader. */
  interface Slave {
    /** Remote address, or the name of a follower. */
    address: string;
    state: string;
    /** The slave has everything before it. */
    acknowledged: number;
    behind_bytes: number;
    /** Since it had everything, to the second; 0: it has. */
    behind_ms: number;
  }

  /** The copies; a broker that has no followers and follows none has no such part. */
  interface Replication {
    /** "ASYNC_MASTER", "SYNC_MASTER", "SLAVE" or "LEADER". */
    role: string;
    /** 0 of a master. */
    broker_id: number;
    /** Of a leader; else 0. */
    term: number;
    /** In the order in which they connected. */
    slaves: Slave[];
    /** Of a SYNC_MASTER or a leader: for how many of them a sender waits; else 0. */
    needed: number;
    /** Of a slave: "follows", "not connected" or "refused: the logs differ"; else empty. */
    waits_for: string;
    /** Of a slave: why it does not follow; empty while it does. */
    problem: string;
    /** Of a slave: since it heard of its master, to the second; -1: it never has. */
    silent_ms: number;
  }

  /** The links of a run and of its variant. */
  interface ComparedLinks {
    left: string;
    right: string;
  }

  /** What one of two runs did last. */
  interface ComparedSide {
    /** By language; None without one for this event. */
    caption: Record<string, string> | null;
    node: string;
    actor: string;
    label: string;
  }

  /** Where two runs begin to differ. */
  interface FirstDifference {
    /** None: both were the same up to ``events`` and ``time_us``. */
    event: number | null;
    events?: number;
    time_us: number;
    left?: ComparedSide;
    right?: ComparedSide;
  }

  /** A file of the engine. */
  interface SourceText {
    lines: string[];
  }

  /** The same, with its name. */
  interface SourceFile extends SourceText {
    file: string;
  }

  /** A record of a broker. */
  interface FilmRecord extends BareRecordView {
    node: string;
  }

  /** What every film has besides its first picture and its frames. */
  interface FilmParts {
    /** From picture to picture: the operations of ``app.foundation.patch``. */
    patches: JsonValue[][][];
    /** The event at which it opens. */
    at: number;
    journal: JournalRow[];
    /** By file. */
    sources: Record<string, SourceText>;
    /** By "node offset store_ms". */
    records: Record<string, FilmRecord>;
    field_texts: Record<string, FieldText>;
    /** By the key of a message. */
    why: Record<string, Why>;
  }

  /** The film of a run. */
  interface Film extends FilmParts {
    view: PlayedWorld;
    /** By number, like those of a recording. */
    frames: Record<string, FrameDetail>;
  }

  /** A real client or broker, of which only its frames are known. */
  interface RecordedNode {
    /** "wire_broker", "wire_producer" or "wire_consumer". */
    role: string;
    status: string;
    incarnation: number;
    skew_ms: number;
    held: string[];
    failure: string;
    ip: string;
    xa_roles: null;
    full_name: string;
    /** How many frames it has sent, and got. */
    sent: number;
    got: number;
  }

  /** A picture of recorded frames. */
  interface RecordedWorld extends WorldParts, PlayState {
    seed: null;
    /** By their short names. */
    nodes: Record<string, RecordedNode>;
    world: WorldIdentity;
    link: string;
    /** In the first picture only, like the next. */
    events_total?: number;
    time_total_us?: number;
  }

  /** The film of recorded frames. */
  interface RecordedFilm extends FilmParts {
    view: RecordedWorld;
    frames: Record<string, CommandFrame>;
  }

  /** The newest recorded frames, for a sequence diagram. */
  interface FrameStrip {
    /** Short name and full name. */
    lanes: string[][];
    frames: Frame[];
  }

  /** Virtual time in us, and the operations that lead to this picture. */
  type TimedPicture = (number | JsonValue[][])[];

  /** A chapter of the start page's film. */
  interface DemonstrationChapter {
    name: string;
    /** Which run: 0 or 1. */
    take: number;
    begin_us: number;
    end_us: number;
    /** How long it takes to watch. */
    play_ms: number;
    /** How long the last picture stays then. */
    rest_ms: number;
    /** By language. */
    text: Record<string, string>;
    pictures: TimedPicture[];
  }

  /** The start page's film. */
  interface Demonstration {
    /** Of the scenario in the lab. */
    address: string;
    /** Address of the lesson about it. */
    lesson: string;
    /** The first picture, without what the start page does not draw. */
    view: Record<string, JsonValue>;
    chapters: DemonstrationChapter[];
  }

  /** Number, time in us, actor, label, and the number of the event that scheduled it (0: from outside). */
  type JournalRow = (number | string)[];

  /** The newest entries; ``from`` is the last one that is left out. */
  type JournalEntries = { from: number; entries: JournalRow[] };

  /** Some entries, the oldest first. */
  interface JournalPage {
    entries: JournalRow[];
  }

  /** What a search found. A further search begins outside of the numbers that were examined. */
  interface JournalMatches extends JournalPage {
    /** The first number that was examined. */
    low: number;
    /** The last one. */
    high: number;
  }

  /** What the journal knows of a frame whose bytes are no longer kept. */
  interface FrameArrival {
    id: null;
    source: string;
    target: string;
    /** Always "frame". */
    kind: string;
    name: string;
    oneway: boolean;
    dropped: boolean;
    sent_us: number;
    arrives_us: number;
    /** That of its arrival. */
    event: number;
  }

  /** What happened between two moments. */
  interface JournalWindow extends JournalPage {
    frames: (Frame | FrameArrival)[];
    /** N when every Nth entry is included. */
    every: number;
  }

  /** The same, with the calls of listeners. */
  interface PlayedWindow extends JournalWindow {
    calls: ListenerBar[];
  }

  /** One step of an answer. */
  interface WhyStep {
    event: number;
    time_us: number;
    node: string;
    kind: string;
    /** By language. */
    text: Record<string, string>;
    /** How long it took; None: it is a moment. */
    span_us: number | null;
    /** It comes after the moment that is asked about. */
    ahead: boolean;
  }

  /** The answer to one question for one group. */
  interface WhyAnswer {
    question: string;
    /** Empty: all groups. */
    group: string;
    /** Of the root cause. */
    cause: string;
    /** By language. */
    verdict: Record<string, string>;
    steps: WhyStep[];
    /** How many steps are left out in the middle. */
    omitted: number;
  }

  /** The answers about one message. */
  interface Why {
    key: string;
    event: number;
    time_us: number;
    /** The most severe first; empty if the key is unknown. */
    answers: WhyAnswer[];
  }

  /** "system": the broker's own. "half" and "op": the two system topics of transactions, as a lab broker names them. */
  type TopicKind = "normal" | "retry" | "dlq" | "system" | "half" | "op";

  /** A queue of a topic. */
  interface Queue {
    /** Offset of the oldest message. */
    min: number;
    /** Offset of the next message to be stored. */
    max: number;
    /** Group -> its committed offset. Groups that broadcast have none. */
    committed: Record<string, number>;
  }

  /** A topic of the live broker. */
  interface Topic {
    /** How many topics existed before it. */
    age: number;
    kind: TopicKind;
    /** RocketMQ's permission bits. */
    perm: number;
    read_queues: number;
    write_queues: number;
    /** Queue id -> queue. A system topic has only the queues that were used. */
    queues: Record<string, Queue>;
    omitted_queues: number;
  }

  /** A topic that a search by name found. */
  interface FoundTopic {
    kind: TopicKind;
    /** Number of its queues. */
    queues: number;
    /** Messages that it stores. */
    stored: number;
  }

  /** The topics that a search by name found. */
  interface FoundTopics {
    topics: Record<string, FoundTopic>;
    omitted: number;
  }

  /** A task or a link. */
  interface Actor {
    name: string;
    node: string;
    /** What it will do next, where that is known. */
    label: string;
    /** 0: it is not held. */
    held_until_us: number;
    /** How many events it has had. */
    steps: number;
    /** It has an event that waits. */
    ready: boolean;
  }

  /** A timer that runs. */
  interface Timer {
    node: string;
    actor: string;
    label: string;
    started_us: number;
    due_us: number;
    /** Among the timers of its actor that are due then. */
    index: number;
  }

  /** The next event of the world. */
  interface NextStep {
    actor: string;
    node: string;
    label: string;
    due_us: number;
    /** Where in the engine's source it continues; None: not known, like the next two. */
    file: string | null;
    line: number | null;
    function: string | null;
  }

  /** Broker, topic, queue id. */
  type QueueName = (string | number)[];

  /** Time in us, stored, done, lag of each queue, members, owners. */
  type BacklogPoint = (number | number[])[];

  /** The lag of one group: stored - done. */
  interface GroupBacklog {
    /** In the order of the lags of a point. */
    queues: QueueName[];
    /** After each change. ``stored`` and ``done`` count messages of all queues; ``owners`` of the members have a queue. */
    series: BacklogPoint[];
    /** The greatest lag so far. */
    peak: number;
    peak_us: number;
  }

  /** The lag of all groups that consume in clustering mode. */
  interface Backlog {
    groups: Record<string, GroupBacklog>;
  }

  /** What a bank does at the moment. */
  interface OpenAction {
    key: string;
    amount: number;
    since_us: number;
    /** "debit", "credit" or "check". */
    doing: string;
  }

  /** A row of a bank's table. */
  interface Posting {
    key: string;
    amount: number;
    time_us: number;
    /** "open" or "committed". */
    state: string;
    /** How many times it was credited. */
    times: number;
    /** Of a resource manager, which has two tables: "debit" or "credit". */
    doing?: string;
  }

  /** What a bank refused. */
  interface RefusedAction {
    key: string;
    amount: number;
    time_us: number;
    doing: string;
    reason: string;
  }

  /** The account of a bank. While no process runs: what is on the disk. */
  interface BankAccount {
    /** As the open transaction sees it; None: there is no database yet. */
    balance: number | null;
    /** As all others see it. */
    committed_balance: number | null;
    is_locked: boolean;
    /** Tasks that wait to write. */
    waiters: string[];
    open: OpenAction[];
    /** The newest ones of its table. */
    rows: Posting[];
  }

  /** The bank of a client node. */
  interface Bank extends BankAccount {
    name: string;
    account: string;
    opening: number;
    /** How a producer pays; None of a consumer. */
    way: string | null;
    /** Whether a consumer recognises a transfer that it has had; None of a producer. */
    idempotent: boolean | null;
    refused: RefusedAction[];
    duplicates_ignored: number;
  }

  /** An answer of a cash machine. */
  interface BalanceShown {
    began_us: number;
    time_us: number;
    /** None: it gave up. */
    balance: number | null;
    /** The transaction that it waited for; empty without one. */
    holder: string;
  }

  /** A cash machine. */
  interface CashMachine {
    /** None unless it waits, like the next. */
    since_us: number | null;
    holder: string | null;
    /** The newest ones. */
    ended: BalanceShown[];
  }

  /** The time in which one bank has done its part of a transfer and the other has not, by their commits. */
  interface MoneyWindow {
    key: string;
    debited: number;
    credited: number;
    debited_us: number | null;
    credited_us: number | null;
  }

  /** What has moved between the banks of a world. */
  interface Money {
    debited: number;
    credited: number;
    /** Debited and not credited yet. */
    in_flight: number;
    /** Credited and not debited. */
    from_nowhere: number;
    /** Time in us, debited, credited, in flight, from nowhere after each change; of a long story every other point. */
    series: number[][];
    /** Of the newest transfers. */
    windows: MoneyWindow[];
    /** Of the closed windows. */
    longest_us: number | null;
    median_us: number | null;
    open_count: number;
  }

  /** A record of the commit log. */
  interface WorldRecord {
    /** In the commit log. */
    offset: number;
    /** Bytes of the record. */
    size: number;
    topic: string;
    queue_id: number;
    queue_offset: number;
    /** The first one; empty without one. */
    key: string;
    tags: string | null;
    /** Its first characters. */
    body: string;
    born_ms: number;
    store_ms: number;
    reconsume_times: number;
  }

  /** The commit log. */
  interface WorldCommitLog {
    min: number;
    max: number;
    /** Everything before it is on the disk. */
    flushed: number;
    /** Everything before it is in the consume queues. */
    dispatched: number;
    /** The newest ones, newest last. */
    records: WorldRecord[];
  }

  /** An entry of a consume queue. */
  interface QueueEntry {
    queue_offset: number;
    /** In the commit log. */
    offset: number;
    /** Of the message; an op message has the key of the half message that it decides. */
    key: string;
  }

  /** A queue of a lab broker. */
  interface WorldQueue extends Queue {
    /** The newest ones, newest last. */
    entries: QueueEntry[];
  }

  /** A topic. */
  interface WorldTopic {
    kind: TopicKind;
    /** Queue id -> queue. A system topic has only the queues that were used. */
    queues: Record<string, WorldQueue>;
  }

  /** A consumer group of a lab broker. */
  interface WorldGroup extends GroupProgress {
    /** Client ids. */
    members: string[];
  }

  /** What a broker's process has. */
  interface BrokerProcess {
    address: string;
    commit_log: WorldCommitLog;
    topics: Record<string, WorldTopic>;
    groups: Record<string, WorldGroup>;
    /** Its lock table: group -> "topic@queue id" -> lease. */
    locks: Record<string, Record<string, Lock>>;
    /** None while no message was delayed. */
    delay_levels: DelayLevels | null;
    /** None while there was no half message. */
    transactions: Transactions | null;
    /** None for a broker that has no followers and follows none. */
    replication: Replication | null;
  }

  /** What is known of a broker without a process. */
  interface DownBroker {
    /** Names of ``engine.lab.scenario.switches``. */
    switched_off: string[];
  }

  /** A broker. */
  interface WorldBroker extends DownBroker, BrokerProcess {
    /** "async" or "sync". */
    flush: string;
    /** Group -> its dead letters; None while the broker has none. */
    dead_letters: Record<string, WorldDeadLetters> | null;
  }

  /** A call of the listener that is under way. */
  interface ListenerCall {
    topic: string;
    broker: string;
    queue_id: number;
    offsets: number[];
    keys: string[];
    since_us: number;
  }

  /** The consumer's threads. */
  interface ConsumePermits {
    threads: number;
    busy: number;
  }

  /** How the listener behaves. */
  interface Listener {
    result: string;
    duration_ms: number;
    /** See ``engine.lab.nodes.batch_answer``. */
    batch_ack: string;
  }

  /** Messages that a listener has handed to a list in memory. */
  interface HandedOver {
    count: number;
    /** The first ones, the one under way first. */
    keys: string[];
    /** Keys of those in the list when a process ended. */
    gone: string[];
  }

  /** Messages that the consumer has moved to another topic. */
  interface MovedAside {
    topic: string;
    /** After this number of deliveries. */
    above: number;
    count: number;
  }

  /** Why a consumer has suspended itself. */
  interface Suspension {
    key: string;
    /** How many times that message was delivered. */
    times: number;
  }

  /** Broadcast messages that the member has dropped. */
  interface GivenUp {
    count: number;
    /** Of the last ones. */
    keys: string[];
  }

  /** The filter of the subscription, and what it did. */
  interface Filter {
    expression: string;
    /** "TAG" or "SQL92". */
    type: string;
    /** By the brokers' filters, for the whole group. */
    let_through: number;
    kept_back: number;
    /** By this member, which compares the tags themselves. */
    dropped: number;
  }

  /** Counts of the numbers that producers gave. */
  interface LossCounts {
    numbered: number;
    met: number;
    lost: number;
    duplicated: number;
    out_of_order: number;
    delivered_again: number;
    /** The first stretches that are missing: first and last number. */
    ranges: number[][];
  }

  /** What a group that looks for losses has found, all members together; None: it knows nothing yet. */
  interface Loss {
    delivered: LossCounts | null;
    done: LossCounts | null;
  }

  /** The replies of a consumer that answers requests. */
  interface Replies {
    replied: number;
    failed: number;
    expired: number;
  }

  /** A consumer. A part that does not concern it is None. */
  interface Consumer {
    group: string;
    topic: string;
    /** None while no process runs. */
    client_id: string | null;
    orderly: boolean;
    /** Names of ``engine.lab.scenario.switches``. */
    switched_off: string[];
    /** By "topic@queue id"; with several brokers by "topic@broker@queue id". */
    process_queues: Record<string, WorldProcessQueue>;
    /** By the same names: of queues that it no longer owns but that a worker still holds. */
    local_locks: Record<string, LocalLock>;
    listener_calls: ListenerCall[];
    permits: ConsumePermits;
    listener: Listener;
    handed_over: HandedOver | null;
    moved_aside: MovedAside | null;
    alarm: Suspension | null;
    given_up: GivenUp | null;
    filter: Filter | null;
    loss: Loss | null;
    replies: Replies | null;
    trace: MessageTrace | null;
    bank: Bank | null;
    idempotence: Idempotence | null;
  }

  /** A fault, for the faults panel and the signs on nodes and links. */
  interface Fault {
    /** The command that caused it. */
    kind: string;
    target: string;
    /** By language. */
    text: Record<string, string>;
    /** Number of the event after which the last such command was given; None: the scenario's own. */
    event: number | null;
    /** Of a fault of links: the directions that it concerns, source and target. */
    links?: string[][];
  }

  /** A violated invariant. */
  interface Violation {
    checker: string;
    /** Its name in the literature. */
    anomaly: string;
    /** The event after which it was found. */
    event: number;
    time_us: number;
    /** What to mark: some of node, group, topic, queue ("topic@queue id"), offset, message (key). */
    element: Record<string, string | number>;
    /** Keys of the messages concerned. */
    messages: string[];
    /** Why, by language. */
    text: Record<string, string>;
  }

  /** What a checker holds. */
  interface Invariant {
    /** Of the checker. */
    name: string;
    /** By language, like the next. */
    title: Record<string, string>;
    why: Record<string, string>;
    anomaly: string;
    ok: boolean;
    violations: Violation[];
  }

  /** A record batch in a segment. */
  interface Batch {
    /** Of its first record. */
    offset: number;
    /** How many it has. */
    records: number;
    size_bytes: number;
    codec: string;
    /** The segment's index has an entry for it. */
    is_indexed: boolean;
    is_unflushed: boolean;
  }

  /** A segment of a partition's log. */
  interface Segment {
    name: string;
    base_offset: number;
    size_bytes: number;
    batch_count: number;
    index_entries: number;
    /** After the last whole batch. */
    torn_bytes: number;
    /** The newest ones. */
    batches: Batch[];
  }

  /** A follower as the leader of a partition knows it. */
  interface PartitionFollower {
    name: string;
    /** End of its log; -1: unknown. */
    end: number;
  }

  /** A broker's part in a replicated partition. */
  interface PartitionReplica {
    state: string;
    /** Empty without one. */
    leader: string;
    /** Of the leader. */
    epoch: number;
    high_watermark: number;
    replicas: string[];
    isr: string[];
    /** The change that is requested, or None. */
    asked_isr: string[] | null;
    /** Of a leader. */
    followers: PartitionFollower[];
  }

  /** A partition as it is on a broker's disk, also while no process runs. */
  interface Partition {
    topic: string;
    partition: number;
    /** Offset of the first record. */
    start: number;
    /** Offset of the next record. */
    end: number;
    size_bytes: number;
    /** Group -> its committed offset. */
    committed: Record<string, number>;
    /** The newest ones. */
    segments: Segment[];
    /** None without a cluster, and while no process runs. */
    replica: PartitionReplica | null;
  }

  /** A broker. */
  interface KafkaBroker {
    partitions: Partition[];
    /** How many fetches wait for records. */
    held_fetches: number;
  }

  /** A controller without a process: nothing is known. */
  interface NoProcess {
  }

  /** A broker as the controller knows it. */
  interface BrokerSession {
    name: string;
    /** When it was last heard of; None: it counts as dead. */
    heard_us: number | null;
  }

  /** A partition as the controller knows it. */
  interface PartitionLeader {
    topic: string;
    partition: number;
    /** Empty without one. */
    leader: string;
    epoch: number;
    replicas: string[];
    isr: string[];
  }

  /** A controller. */
  interface KafkaController {
    brokers: BrokerSession[];
    /** A broker not heard of for this long counts as dead. */
    session_us: number;
    partitions: PartitionLeader[];
  }

  /** A batch that a producer has not sent yet. */
  interface AccumulatedBatch {
    records: number;
    size_bytes: number;
    since_us: number;
    attempts: number;
    /** It takes no more records. */
    is_closed: boolean;
  }

  /** The batches for one partition. */
  interface AccumulatedPartition {
    topic: string;
    partition: number;
    /** The next to be sent first. */
    batches: AccumulatedBatch[];
  }

  /** The record accumulator of a producer. */
  interface Accumulator {
    batch_bytes: number;
    linger_us: number;
    memory_bytes: number;
    used_bytes: number;
    partitions: AccumulatedPartition[];
  }

  /** A request without an answer. */
  interface ClientRequest {
    number: number;
    name: string;
    records: number;
    /** None while unsent. */
    since_us: number | null;
  }

  /** A producer; without a process it has counts only. */
  interface KafkaProducer extends SendCounts {
    accumulator?: Accumulator;
    requests?: ClientRequest[];
    max_in_flight?: number;
    /** -1: none. */
    producer_id?: number;
  }

  /** Records that were fetched, and not polled to the end yet. */
  interface CompletedFetch {
    topic: string;
    partition: number;
    records: number;
    records_left: number;
    size_bytes: number;
  }

  /** The fetcher of a consumer. */
  interface Fetcher {
    unsent: ClientRequest[];
    in_flight: ClientRequest[];
    completed: CompletedFetch[];
  }

  /** What the consumer's application has polled. */
  interface Polled {
    /** The first ones. */
    keys: string[];
    count: number;
    /** Key of the record that is processed, or None. */
    at: string | null;
  }

  /** A consumer's place in a partition; None: it has none. */
  interface Position {
    topic: string;
    partition: number;
    position: number | null;
    committed: number | null;
  }

  /** A consumer; without a process it has neither fetcher nor positions. */
  interface KafkaConsumer {
    group: string;
    topic: string;
    consumed: number;
    polled: Polled;
    fetcher?: Fetcher;
    positions?: Position[];
  }

  /** A call of a listener. */
  interface ListenerBar {
    /** Number of the event with which it began. */
    event: number;
    node: string;
    /** Of the first messages. */
    keys: string[];
    /** "topic@queue id". */
    queue: string;
    since_us: number;
    /** None: it is under way. */
    until_us: number | null;
    /** None: it is under way; "died": with its process. */
    result: string | null;
  }

  /** What all nodes have. */
  interface NodeProcess {
    /** "running", "paused", "crashed" and others. */
    status: string;
    /** Whether it ever ran. */
    has_run: boolean;
    is_starting: boolean;
    /** Number of its process. */
    incarnation: number;
    /** By how much its clock is ahead of the world's. */
    skew_ms: number;
    /** Names of its held tasks. */
    held: string[];
    /** Why it is down; None without a reason. */
    failure: string | null;
    ip: string;
    /** Its parts in a transaction over several nodes: "TC", "TM", "RM"; None without one. */
    xa_roles: string[] | null;
    /** None where memory is unlimited. */
    page_cache: PageCache | null;
  }

  /** A name server; without a process it knows nothing. */
  interface NameServerPicture extends NodeProcess {
    role: "name_server";
    address?: string;
    /** Broker name -> broker id -> address. */
    brokers?: Record<string, Record<string, string>>;
    /** Topic -> names of the brokers that have it. */
    routes?: Record<string, string[]>;
  }

  /** A broker without a process that listens. */
  interface DownBrokerPicture extends NodeProcess, DownBroker {
    role: "broker";
  }

  /** A broker. */
  interface BrokerPicture extends NodeProcess, WorldBroker {
    role: "broker";
  }

  /** A producer. */
  interface ProducerPicture extends NodeProcess, Producer {
    role: "producer";
  }

  /** A consumer. */
  interface ConsumerPicture extends NodeProcess, Consumer {
    role: "consumer";
  }

  /** A coordinator of two-phase commits. */
  interface CoordinatorPicture extends NodeProcess, CoordinatorNode {
    role: "transaction_coordinator";
  }

  /** A transaction manager. */
  interface ManagerPicture extends NodeProcess, ManagerNode {
    role: "transaction_manager";
  }

  /** A resource manager. */
  interface ResourceManagerPicture extends NodeProcess, ResourceManagerNode {
    role: "resource_manager";
  }

  /** A database. */
  interface DatabasePicture extends NodeProcess, DatabaseNode {
    role: "database";
  }

  /** A Redis. */
  interface RedisPicture extends NodeProcess, RedisNode {
    role: "redis";
  }

  /** A service. */
  interface ServicePicture extends NodeProcess, ServiceNode {
    role: "service";
  }

  /** A Kafka broker. */
  interface KafkaBrokerPicture extends NodeProcess, KafkaBroker {
    role: "kafka_broker";
  }

  /** A Kafka producer. */
  interface KafkaProducerPicture extends NodeProcess, KafkaProducer {
    role: "kafka_producer";
  }

  /** A Kafka consumer. */
  interface KafkaConsumerPicture extends NodeProcess, KafkaConsumer {
    role: "kafka_consumer";
  }

  /** A Kafka controller. */
  interface KafkaControllerPicture extends NodeProcess, KafkaController {
    role: "kafka_controller";
  }

  /** A Kafka controller without a process. */
  interface DownKafkaControllerPicture extends NodeProcess {
    role: "kafka_controller";
  }

  /** A peer of a Raft group. */
  interface RaftPeerPicture extends NodeProcess, RaftPeer {
    role: "raft_peer";
  }

  /** A client of a Raft group. */
  interface RaftClientPicture extends NodeProcess, RaftClient {
    role: "raft_client";
  }

  /** A node of any role. */
  type NodePicture = NameServerPicture | BrokerPicture | DownBrokerPicture | ProducerPicture | ConsumerPicture | CoordinatorPicture | ManagerPicture | ResourceManagerPicture | DatabasePicture | RedisPicture | ServicePicture | KafkaBrokerPicture | KafkaProducerPicture | KafkaConsumerPicture | KafkaControllerPicture | DownKafkaControllerPicture | RaftPeerPicture | RaftClientPicture;

  /** The pages of a file. */
  interface CachedFile {
    /** Empty: all files that fit into one page. */
    path: string;
    /** Number of the first page shown. */
    first: number;
    /** A letter per page: d dirty, f being flushed, c clean, a read ahead and not used, e evicted, "." never written. */
    cells: string;
  }

  /** One transfer of contiguous pages. */
  interface ArmMove {
    number: number;
    time_us: number;
    /** "read", "ahead" (read in advance) or "write". */
    kind: string;
    path: string;
    /** The first one, in the file. */
    page: number;
    /** The first one, from the start of the disk. */
    place: number;
    pages: number;
    is_seek: boolean;
  }

  /** The page cache; a machine whose memory is unlimited has none. */
  interface PageCache {
    /** In memory. */
    pages: number;
    /** At most in memory. */
    limit: number;
    /** Until when the machine's process stands still, because the disk must read or write for it; or None. */
    waits_until_us: number | null;
    dirty: number;
    dirty_limit: number;
    files: CachedFile[];
    /** The last ones. */
    moves: ArmMove[];
    /** Pages of the disk that files have. */
    places: number;
    /** Name -> count: see ``engine.runtime.lab.lab_page_cache.PageCacheFigures``. */
    figures: Record<string, number>;
  }

  /** The world among those of the server. */
  interface WorldIdentity {
    /** Empty in a film. */
    id: string;
    /** Others may follow it. */
    published: boolean;
    /** How many pages show it. */
    viewers: number;
  }

  /** How time passes in the next stretch of a world that is shown next to another. */
  interface TimeAhead {
    until_us: number;
    /** Virtual seconds per second. */
    rate: number;
    why: string;
  }

  /** What the world is busy with. */
  interface Busy {
    /** "rebuild", "scrub", "run-until" or "step-actor". */
    kind: string;
    event: number;
    /** None: not known in advance. */
    target: number | null;
  }

  /** Why play stopped. */
  interface StopReason {
    /** "violation", "breakpoint", "limit", "over" or "failure". */
    kind: string;
    /** By language. */
    text: Record<string, string>;
    /** Of a violation, like all below: see :class:`~app.picture.world.invariant.Violation`. */
    checker?: string;
    anomaly?: string;
    event?: number;
    time_us?: number;
    element?: Record<string, string | number>;
    messages?: string[];
  }

  /** How a world or a recording is played. */
  interface PlayState {
    playing: boolean;
    /** As it was chosen: virtual seconds per second, or "auto". */
    speed: number | string;
    /** None while it stands still. */
    speed_now: number | null;
    /** Why time passes at this rate at speed "auto"; may be empty. */
    pace: string;
    /** It is viewed as it was before. */
    in_past: boolean;
    busy: Busy | null;
    stopped_by: StopReason | null;
    /** The link of the run from which a fork was made, or None. */
    forked_from: string | null;
  }

  /** How long a world or a recording is. */
  interface Length {
    events_total: number;
    time_total_us: number;
  }

  /** How a world is played. */
  interface Playing extends PlayState, Length {
    /** None unless it is shown next to another world. */
    ahead: TimeAhead | null;
  }

  /** The world as a picture of a film has it. */
  interface WorldInFilm extends WorldPicture, Playing {
    world: WorldIdentity;
  }

  /** The world as a page gets it. */
  interface PlayedWorld extends WorldInFilm {
    /** The run as the fragment of an address. */
    link: string;
  }

  /** A message that a client has sent, and whose outcome it does not know yet. */
  interface InFlight {
    key: string;
    since_us: number;
  }

  /** What became of the messages of a client that sends. */
  interface SendCounts {
    sent: number;
    acknowledged: number;
    failed: number;
    /** Neither: an answer is missing. */
    unknown: number;
    in_flight: InFlight[];
  }

  /** A local transaction, or a check-back, that runs. */
  interface RunningTransaction {
    key: string;
    /** 0 for the local transaction itself, n for the nth check-back. */
    check: number;
    since_us: number;
  }

  /** A local transaction, or a check-back, that has ended. */
  interface EndedTransaction {
    key: string;
    check: number;
    result: string;
    time_us: number;
  }

  /** The local transactions of a producer. */
  interface LocalTransactions {
    running: RunningTransaction[];
    /** The last ones. */
    ended: EndedTransaction[];
  }

  /** Permits of asynchronous sends. */
  interface Permits {
    in_flight: number;
    in_flight_max: number;
    waiting: number;
  }

  /** Requests that wait for a reply. */
  interface Requests {
    waiting: number;
    replied: number;
    not_replied: number;
  }

  /** A slow broker that is avoided. */
  interface AvoidedBroker {
    broker: string;
    latency_ms: number;
    until_us: number;
  }

  /** How a producer sends. */
  interface Sending {
    /** Of its traffic: "sync", "async", "oneway", "request". */
    modes: string[];
    /** None: it does not send asynchronously. */
    permits: Permits | null;
    /** None: it sends no requests. */
    requests: Requests | null;
    /** None: it does not avoid slow brokers. */
    avoided: AvoidedBroker[] | null;
  }

  /** The counters of a client with message trace. */
  interface MessageTrace {
    noted: number;
    sent: number;
    dropped: number;
    lost: number;
  }

  /** A producer. */
  interface Producer extends SendCounts {
    group: string;
    /** None while no process runs. */
    client_id: string | null;
    /** None: it does not send in transactions. */
    transactions: LocalTransactions | null;
    /** None: it only sends and waits, and avoids no broker. */
    sending: Sending | null;
    trace: MessageTrace | null;
    bank: Bank | null;
    cash_machine: CashMachine | null;
  }

  /** The answer to a candidate. */
  interface VoteAnswer {
    name: string;
    verdict: string;
  }

  /** A follower as its leader knows it. */
  interface RaftFollower {
    name: string;
    match_index: number;
    next_index: number;
  }

  /** Why a peer does not lead. */
  interface Obstacle {
    reason: string;
    /** Of the peers that are the reason; may be empty. */
    names: string;
  }

  /** The state of a peer's process. */
  interface Raft {
    role: string;
    term: number;
    /** Empty: none. */
    voted_for: string;
    /** Empty: not known. */
    leader: string;
    voters: string[];
    commit_index: number;
    applied_index: number;
    last_index: number;
    last_term: number;
    /** Whether it refuses candidates that lack entries. */
    checks_log: boolean;
    failure: string;
    /** When the timer is over. */
    due_us: number;
    /** How long the timer is at most. */
    wait_us: number;
    /** Of a candidate. */
    answers: VoteAnswer[];
    /** Of a leader. */
    followers: RaftFollower[];
    obstacles: Obstacle[];
  }

  /** An entry of the log. */
  interface RaftEntry {
    index: number;
    term: number;
    text: string;
    kind: string;
    /** Without a process it is not known: False. */
    is_committed: boolean;
  }

  /** The log; without a process as it is on the disk. */
  interface RaftLog {
    entry_count: number;
    /** The newest ones. */
    entries: RaftEntry[];
  }

  /** A peer. */
  interface RaftPeer {
    /** Only while a process runs. */
    raft?: Raft;
    log: RaftLog;
  }

  /** A client of a Raft group. */
  interface RaftClient extends SendCounts {
    /** The node that it takes for the leader. */
    asked: string;
  }

  /** A branch as the coordinator knows it. */
  interface BranchVote {
    resource: string;
    vote: string;
  }

  /** An open transaction of the coordinator. */
  interface GlobalTransaction {
    xid: string;
    key: string;
    state: string;
    reason: string;
    begun_us: number;
    branches: BranchVote[];
  }

  /** Positions of the coordinator's log, in bytes. */
  interface CoordinatorLog {
    end: number;
    flushed: number;
    size: number;
  }

  /** A coordinator. */
  interface Coordinator {
    /** Number of its process. */
    process: number;
    log: CoordinatorLog;
    /** How many are open. */
    open: number;
    /** How many have ended. */
    ended: number;
    /** Those that are open. */
    transactions: GlobalTransaction[];
  }

  /** The node of a coordinator. */
  interface CoordinatorNode {
    /** None while no process runs. */
    coordinator: Coordinator | null;
  }

  /** A transfer whose outcome the manager does not know. */
  interface TransferUnderWay {
    key: string;
    xid: string;
    /** Its next step, or what it waits for. */
    phase: string;
    since_us: number;
  }

  /** A transfer that has ended. */
  interface TransferEnded {
    key: string;
    xid: string;
    outcome: string;
    reason: string;
    time_us: number;
  }

  /** A transaction manager. */
  interface Manager {
    under_way: TransferUnderWay | null;
    /** Outcome -> number of transfers. */
    counts: Record<string, number>;
    /** The newest ones. */
    ended: TransferEnded[];
    /** How many transfers it will make. */
    total: number;
  }

  /** The node of a transaction manager. */
  interface ManagerNode {
    manager: Manager;
  }

  /** A branch as its resource manager knows it. */
  interface Branch {
    xid: string;
    key: string;
    doing: string;
    state: string;
    reason: string;
    since_us: number;
  }

  /** A task that waits for the lock on the account. */
  interface LockWait {
    waiter: string;
    since_us: number;
  }

  /** A resource manager. */
  interface Resource {
    /** The open ones, then the newest that are over. */
    branches: Branch[];
    /** The transaction that has the lock on the account, or None, like the next. */
    holder: string | null;
    held_us: number | null;
    waiting: LockWait[];
  }

  /** The node of a resource manager. */
  interface ResourceManagerNode {
    /** None while no process runs. */
    resource: Resource | null;
    bank: Bank;
    cash_machine: CashMachine | null;
  }

  /** A time in us, and the state from then on. */
  type Step = (number | string)[];

  /** A branch over time. */
  interface BranchCourse {
    node: string;
    xid: string;
    key: string;
    doing: string;
    state: string;
    reason: string;
    steps: Step[];
  }

  /** A transaction over time. */
  interface TransactionCourse {
    node: string;
    xid: string;
    key: string;
    state: string;
    reason: string;
    steps: Step[];
    branches: BranchCourse[];
  }

  /** A transfer by transactional message. */
  interface MessageTransfer {
    key: string;
    node: string;
    sent_us: number;
    /** When its local transaction begins. */
    debit_us: number | null;
    debited_us: number | null;
    credited_us: number | null;
    /** "credited", "rolled-back", "refused" or None. */
    end: string | null;
  }

  /** A wait for a lock. */
  interface Blocked {
    node: string;
    bank: string;
    account: string;
    waiter: string;
    /** The transaction that has the lock. */
    by: string;
    since_us: number;
    until_us: number | null;
    in_vain: boolean;
  }

  /** All waits of a cash machine. */
  interface CashMachineWaits {
    node: string;
    bank: string;
    count: number;
    longest_us: number;
    in_vain: number;
  }

  /** A time without a process. */
  interface Downtime {
    node: string;
    since_us: number;
    until_us: number | null;
  }

  /** The two-phase commits of a world. */
  interface TwoPhaseCommits {
    /** The newest ones. */
    transactions: TransactionCourse[];
    /** The newest ones. */
    messages: MessageTransfer[];
    /** The newest ones. */
    blocked: Blocked[];
    waits: CashMachineWaits[];
    /** The newest ones. */
    down: Downtime[];
  }

  /** A record of what is done or under way. A consumer whose clock is ahead writes times ahead. */
  interface IdempotenceRecord {
    scope: string;
    key: string;
    /** The lock of another record. */
    is_lock: boolean;
    state: string;
    /** The beginning of its token. */
    owner: string;
    /** The consumer that works on it; None: no consumer does. */
    by: string | null;
    message_id: string;
    taken_us: number;
    /** None: never. */
    expires_us: number | null;
  }

  /** A record in a database. */
  interface DatabaseRecord extends IdempotenceRecord {
    /** Not committed yet. */
    is_open: boolean;
  }

  /** What was done for an order. */
  interface Order {
    key: string;
    status: string;
    /** Repetitions of the most repeated work for it. */
    times: number;
    /** Consumers that did something for it, with commas between them. */
    by: string;
    /** Not committed yet. */
    is_open: boolean;
  }

  /** The stock that orders are taken from. */
  interface Stock {
    item: string;
    opening: number;
    left: number;
    version: number;
  }

  /** An open transaction. */
  interface OpenSqlTransaction {
    /** None: the administrator. */
    node: string | null;
    number: number;
    since_us: number;
    /** "writes", "waits" or "reads". */
    state: string;
    /** The last one. */
    statement: string;
  }

  /** A transaction in the two logs of a database. */
  interface LoggedTransaction {
    xid: number;
    /** "prepared", "committed" or "rolled-back". */
    state: string;
    is_in_binlog: boolean;
    /** Recovery decided it. */
    by_recovery: boolean;
  }

  /** A database. While no process runs: what is on the disk. */
  interface Database {
    /** The newest ones. */
    orders: Order[];
    order_count: number;
    /** Work done more than once. */
    twice: number;
    /** None where nothing is taken from it. */
    stock: Stock | null;
    /** The newest ones. */
    records: DatabaseRecord[];
    record_count: number;
    open: OpenSqlTransaction[];
    /** The newest ones; None: it has no such log. */
    binlog: LoggedTransaction[] | null;
  }

  /** The node of a database. */
  interface DatabaseNode {
    /** None while nothing was ever committed. */
    database: Database | null;
  }

  /** A record in Redis. */
  interface RedisRecord extends IdempotenceRecord {
    /** From when on a failover keeps it; None: from now on. */
    replica_us: number | null;
  }

  /** Another value in Redis. */
  interface RedisValue {
    key: string;
    value: string;
    expires_us: number | null;
    replica_us: number | null;
  }

  /** A Redis. While no process runs: what it begins with. */
  interface Redis {
    keys: (RedisRecord | RedisValue)[];
    key_count: number;
    /** Keys that the last failover has lost. */
    forgotten: string[];
    replica_lag_ms: number;
  }

  /** The node of a Redis. */
  interface RedisNode {
    redis: Redis;
  }

  /** Calls with the same operation and key. */
  interface ServiceCall {
    operation: string;
    key: string;
    times: number;
  }

  /** A service. */
  interface Service {
    /** The newest ones. */
    calls: ServiceCall[];
    call_count: number;
    /** Operations done more than once. */
    twice: number;
    is_idempotent: boolean;
  }

  /** The node of a service. */
  interface ServiceNode {
    service: Service;
  }

  /** A delivery that the guard judged. */
  interface Judged {
    key: string;
    order: string;
    verdict: string;
    is_acknowledged: boolean;
    time_us: number;
  }

  /** The message that made the guard sound an alarm. */
  interface IdempotenceAlarm {
    key: string;
    deliveries: number;
  }

  /** The guard of a consumer with work. */
  interface Idempotence {
    strategy: string;
    /** What identifies a message. */
    key: string;
    expiry_ms: number;
    /** The node that guards it, or None. */
    store: string | null;
    checks_owner: boolean;
    /** Name -> count over all its processes. */
    counters: Record<string, number>;
    /** Keys of the business. */
    under_way: string[];
    /** The newest ones. */
    judged: Judged[];
    alarm: IdempotenceAlarm | null;
  }

  /** A text by language. */
  type Words = Record<string, string>;

  /** Where a run stops: see ``engine.lab.scenario.condition``. */
  interface StopCondition {
    on: string;
    node: string;
    contains: string;
    time_us: number;
  }

  /** A button that does what the suggestion says. */
  interface TryButton {
    label: Words;
    /** None: it runs or searches. */
    command: Record<string, JsonValue> | null;
    run_until: StopCondition | null;
    /** It opens the search for a run that violates an invariant. */
    search: boolean;
  }

  /** What the scenario says. */
  interface ScenarioPart {
    /** Its name. */
    scenario: string;
    title: Words;
    summary: Words;
    about: Words;
    suggestion: Words;
    try_buttons: TryButton[];
    /** Parts of the stage that matter in it. */
    focus: string[];
    duration_us: number;
  }

  /** What has just happened, in a sentence. */
  interface Caption {
    /** It is true after this event. */
    event: number;
    text: Words;
    kind: string;
    /** 0 to 3: what is heavier stays longer. */
    weight: number;
    /** Of messages in it. */
    keys: string[];
  }

  /** What the scenario or a command has set: a timer or a size. */
  interface Setting {
    node: string;
    name: string;
    value: JsonValue;
    unit: string;
  }

  /** An exception that no engine code caught. */
  interface Failure {
    event: number;
    actor: string;
    text: string;
  }

  /** What a world has after an event besides its nodes. */
  interface WorldParts extends ScenarioPart {
    event: number;
    time_us: number;
    is_over: boolean;
    life: MessageLives;
    /** None in a world without banks. */
    money: Money | null;
    /** None where no group consumes in clustering mode. */
    backlog: Backlog | null;
    /** None in a world without a coordinator. */
    xa: TwoPhaseCommits | null;
    /** In flight, and the last that arrived. */
    frames: Frame[];
    /** The last ones. */
    calls: ListenerBar[];
    /** The next to expire first. */
    timers: Timer[];
    actors: Actor[];
    next: NextStep | null;
    caption: Caption | null;
    invariants: Invariant[];
    faults: Fault[];
    /** What was done: ``event``, ``time_us``, and the command's own fields. */
    commands: Record<string, JsonValue>[];
    settings: Setting[];
    failures: Failure[];
  }

  /** A world after an event; ``app.lab.session`` adds how it is played. */
  interface WorldPicture extends WorldParts {
    seed: number;
    /** By name. */
    nodes: Record<string, NodePicture>;
  }

  /** A node of the tree. */
  interface TreeNode {
    /** Queue offset of its message. */
    offset: number;
    /** Key of its message. */
    key: string;
    /** Otherwise it is black. */
    red: boolean;
    left: TreeNode | null;
    right: TreeNode | null;
    /** True where nodes below it are left out. */
    cut?: boolean;
  }

}
