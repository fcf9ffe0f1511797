// Types on top of those of app/picture, for modules that read nodes of any role.

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

  /** A world as the modules of the lab read it. */
  type ShownWorld = Omit<PlayedWorld, "nodes"> & { nodes: Record<string, AnyNode> };
}
