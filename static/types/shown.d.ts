// Types on top of those of app/picture, for modules that read nodes of any role.

/** An event of a field, as a listener at that field gets it. */
interface FieldEvent extends Event {
  target: HTMLInputElement;
  currentTarget: HTMLInputElement;
}

declare namespace Picture {
  type KeyOfAny<Union> = Union extends unknown ? keyof Union : never;
  type ValueOfAny<Union, Key> = Union extends unknown ? (Key extends keyof Union ? Union[Key] : undefined) : never;

  /** A node whose role need not be known: what other roles have may be missing. */
  type AnyNode = NodePicture & { [Key in KeyOfAny<NodePicture>]?: ValueOfAny<NodePicture, Key> };

  /** The clock of a world, in microseconds. */
  interface Clock {
    /** The time now; it reads a signal, so what draws it is drawn again when time passes. */
    now(): number;
    /** A time in words. */
    at(us: number): string;
    /** How long something takes, in words. */
    span(us: number): string;
  }

  /** A queue of a topic, or all of them; with an entry, a message in it, which all groups may have read. */
  interface LanePlace {
    topic: string;
    queueId?: string | null;
    entry?: QueueEntry;
    isRead?: boolean;
  }

  /** What a page knows of the readers of queues, and what its user can do: for the lanes of static/parts/lane. */
  interface LaneSource {
    /** The order of consumer groups. */
    order(one: string, other: string): number;
    /** Classes of the element that shows a place: whether the page points at it. Reads signals. */
    markOf(place: LanePlace): string;
    /** Properties of that element: what the pointer on it marks elsewhere. */
    pointing(place: LanePlace): object;
    /** Shows what a place holds. */
    open?(place: LanePlace): void;
    /** The name of the job of a run on Spark. */
    jobOf?(run: string): string;
    /** What becomes of a group's backlog on a topic, or on all ("") of them. Reads a signal. */
    outlook?(group: string, topic: string): BacklogOutlook | undefined;
    /** Asks where a group is to go on. */
    reset?(group: string, topic: string): void;
  }

  /** What the axis of the lanes depends on; all read signals. */
  interface AxisSource {
    topics(): (Topic | WorldTopic)[];
    /** How many jobs on Spark read. */
    jobs(): number;
    /** "log" or "linear". */
    scale(): string;
  }

  /** A world as the modules of the lab read it. */
  type ShownWorld = Omit<PlayedWorld, "nodes"> & { nodes: Record<string, AnyNode> };
}
