// @ts-check
// Applies the server's patches to a tree of plain objects and lists (the counterpart of app/foundation/patch.py).
//
// Nothing that was handed out is ever changed: a patch copies the containers along its paths and shares the
// rest with the old tree. So "has this lane changed?" is one comparison by identity, and a view that holds an
// old tree (the paused page) keeps it whole.
//
//   ["set",    path, value]              put value at path (the parent exists already)
//   ["delete", path]                     remove a key of an object
//   ["append", path, items, keepLast]    extend the list at path, then keep only its last keepLast items
//   ["splice", path, start, count, items]  replace count items of the list at path, from index start on

/**
 * @typedef {any} Tree What the server sends is looked at part by part.
 * @typedef {any[]} Operation
 * @typedef {WeakSet<object>} Copied Containers made by this very patch: safe to change in place.
 */

/** An operation does not fit the tree; the page then asks for a new snapshot. */
export class PatchRefused extends Error {}

/**
 * The tree after `operations`, applied in order. Throws PatchRefused and leaves `tree` as it was.
 *
 * @param {Tree} tree
 * @param {Operation[]} operations
 * @returns {Tree}
 */
export function applyPatch(tree, operations) {
  const copied = new WeakSet();
  return operations.reduce((current, operation) => applyOne(current, operation, copied), tree);
}

/** How many parts each operation has. */
const PARTS = new Map(Object.entries({ set: 3, delete: 2, append: 4, splice: 5 }));

/**
 * @param {Tree} tree
 * @param {Operation} operation
 * @param {Copied} copied
 * @returns {Tree}
 */
function applyOne(tree, operation, copied) {
  if (!Array.isArray(operation) || !Array.isArray(operation[1])) refuse("malformed operation", operation);
  const [name, path] = operation;
  if (PARTS.get(name) !== operation.length) refuse("unknown or malformed operation", operation);
  if (!path.every((/** @type {unknown} */ key) => typeof key === "string")) refuse("keys are strings", operation);
  switch (name) {
    case "set": {
      if (path.length === 0) return operation[2];
      const { root, parent } = copyParent(tree, path, operation, copied);
      put(parent, path.at(-1), operation[2]);
      return root;
    }
    case "delete": {
      if (path.length === 0) refuse("cannot delete the whole tree", operation);
      const { root, parent } = copyParent(tree, path, operation, copied);
      if (!Object.hasOwn(parent, path.at(-1))) refuse("nothing to delete", operation);
      delete parent[path.at(-1)];
      return root;
    }
    case "append":
      return append(tree, operation, copied);
    default:
      return splice(tree, operation, copied);
  }
}

/**
 * @param {Tree} tree
 * @param {Operation} operation
 * @param {Copied} copied
 */
function append(tree, operation, copied) {
  const [, path, items, keepLast] = operation;
  if (!Array.isArray(items) || !Number.isInteger(keepLast) || keepLast < 1) refuse("malformed operation", operation);
  const list = valueAt(tree, path, operation);
  if (!Array.isArray(list)) refuse("no list to append to", operation);
  return replaceList(tree, operation, [...list, ...items].slice(-keepLast), copied);
}

/**
 * @param {Tree} tree
 * @param {Operation} operation
 * @param {Copied} copied
 */
function splice(tree, operation, copied) {
  const [, path, start, count, items] = operation;
  if (!Array.isArray(items) || !isIndex(start) || !isIndex(count)) refuse("malformed operation", operation);
  const list = valueAt(tree, path, operation);
  if (!Array.isArray(list) || start + count > list.length) refuse("no such range of a list", operation);
  // A patch may splice one list in many places: it is copied once.
  const copy = copied.has(list) ? list : [...list];
  copied.add(copy);
  copy.splice(start, count, ...items);
  return copy === list ? tree : replaceList(tree, operation, copy, copied);
}

/**
 * @param {Tree} tree
 * @param {Operation} operation
 * @param {any[]} list
 * @param {Copied} copied
 */
function replaceList(tree, operation, list, copied) {
  const path = operation[1];
  if (path.length === 0) return list;
  const { root, parent } = copyParent(tree, path, operation, copied);
  put(parent, path.at(-1), list);
  return root;
}

/** @param {number} value */
const isIndex = (value) => Number.isInteger(value) && value >= 0;

/**
 * Copies every object from the root to the parent of `path`, once per patch.
 *
 * @param {Tree} tree
 * @param {string[]} path
 * @param {Operation} operation
 * @param {Copied} copied
 */
function copyParent(tree, path, operation, copied) {
  const root = copyOnce(tree, operation, copied);
  let parent = root;
  for (const key of path.slice(0, -1)) {
    const copy = copyOnce(child(parent, key, operation), operation, copied);
    put(parent, key, copy);
    parent = copy;
  }
  return { root, parent };
}

/**
 * @param {Tree} value
 * @param {Operation} operation
 * @param {Copied} copied
 */
function copyOnce(value, operation, copied) {
  if (!isObject(value)) refuse("no object at the path", operation);
  if (copied.has(value)) return value;
  const copy = { ...value };
  copied.add(copy);
  return copy;
}

/**
 * @param {Tree} value
 * @param {string} key
 * @param {Operation} operation
 * @returns {Tree}
 */
function child(value, key, operation) {
  if (!isObject(value) || !Object.hasOwn(value, key)) refuse("no such path", operation);
  return value[key];
}

/** @param {Tree} tree @param {string[]} path @param {Tree} operation */
const valueAt = (tree, path, operation) => path.reduce((value, key) => child(value, key, operation), tree);

/**
 * Plain assignment, except for the one key that would change the prototype: topics may be called anything.
 *
 * @param {Tree} object
 * @param {string} key
 * @param {unknown} value
 */
function put(object, key, value) {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

/** @param {unknown} value */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * @param {string} why
 * @param {Operation} operation
 */
function refuse(why, operation) {
  throw new PatchRefused(`${why}: ${JSON.stringify(operation)}`);
}
