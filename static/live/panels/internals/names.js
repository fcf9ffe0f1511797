// @ts-check
// Short names of a group's members, as nodes have them on the lab's stage: C1, C2 ... in the order in which they came.

const given = new Map();

export function nameOf(group, id) {
  if (!given.has(group)) given.set(group, new Map());
  const names = given.get(group);
  if (!names.has(id)) names.set(id, `C${names.size + 1}`);
  return names.get(id);
}
