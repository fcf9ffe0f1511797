// @ts-check
// The roles that nodes have.

/** The letters of each, in the order in which nodes are listed. */
export const ROLE_LETTERS = {
  producer: "P",
  name_server: "N",
  broker: "B",
  consumer: "C",
  transaction_manager: "TM",
  transaction_coordinator: "TC",
  resource_manager: "RM",
  database: "D",
  redis: "R",
  service: "S",
  kafka_producer: "KP",
  kafka_controller: "KQ",
  kafka_broker: "KB",
  kafka_consumer: "KC",
  raft_client: "RC",
  raft_peer: "R",
  wire_producer: "P",
  wire_broker: "B",
  wire_consumer: "C",
};

export const ROLE_ORDER = Object.keys(ROLE_LETTERS);
