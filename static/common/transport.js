// @ts-check
// How a page reaches the server that it came from: by requests, and by streams of events in both directions. No other
// module knows that there is HTTP or Socket.IO: the site without a server has a module of the same functions in this
// one's place, and a worker that answers.

import { io } from "socket.io-client";

/** WebSocket first; long polling where something on the way does not let WebSockets pass. */
const TRANSPORT = { transports: ["websocket", "polling"], tryAllTransports: true };

/** @type {import("socket.io-client").Socket | null} */
let connection = null;

/**
 * Sends a request to an address of the server; resolves to a Response as `fetch` does. In a frame of another site it
 * has no cookies: the server knows this page by its connection.
 *
 * @param {string} address It starts with "/".
 * @param {RequestInit} [options]
 */
export const sendRequest = (address, options) =>
  fetch(
    address,
    connection?.id ? { ...options, headers: { ...options?.headers, "X-Connection": connection.id } } : options,
  );

/** Whether other browsers can follow this page's worlds. */
export const hasFollowers = true;

/**
 * Opens a stream: an object with `on`, `emit`, `connect`, `close` and `active`.
 *
 * @param {string} namespace Such as "/lab".
 */
export const openConnection = (namespace) => (connection = io(namespace, TRANSPORT));
