// @ts-check
// Paints the sequence diagram and remembers where everything clickable is.

import { t } from "../../common/i18n.js";
import { span, virtualTime } from "../../common/world/format.js";
import { shortName } from "../../common/world/frame_words.js";
import { firstAtOrAfter } from "../../common/binary_search.js";
import { LabelRoom } from "./labels.js";
import { placeOf } from "./sequence_axis.js";

const LABEL_WIDTH = 62;
/** More where lanes say which part their node plays. */
const PARTS_WIDTH = 44;
const AXIS_HEIGHT = 17;
/** The least height of a lane; where more nodes are than fit, the diagram scrolls. */
export const LANE_LEAST = 13;
/** What is shown of a message's key at most. */
const KEY_LENGTH = 24;
/** Shares of an arrow at which its name may begin, the best first. */
const NAME_SHARES = [0.5, 0.35, 0.65, 0.2, 0.8];
/** Lengths of dashes and gaps; the same lists for each stroke of each picture, of which there are sixty a second. */
const SOLID = [];
const REPLY_DASHES = [4, 3];
const FAULT_DASHES = [2, 3];
/** The corners of the sign of a fault. */
const FLASH = [2, -9, -5, 1, -1, 1, -2, 9, 6, -2, 1, -2];
/** Widths of texts by font: the canvas answers with a new object each time. Bounded, as texts come and go. */
const widths = /** @type {Map<string, Map<string, number>>} */ (new Map());
const WIDTHS_MOST = 500;

/** Paints `scene` and returns { spots: [{x, y, entry | frame}] }. Who paints often passes the size: asking the canvas
    makes the browser lay the whole page out. */
export function paintSequence(canvas, scene, { width = canvas.clientWidth, height = canvas.clientHeight } = {}) {
  if (width === 0 || height === 0) return null;
  const ratio = Math.min(2, devicePixelRatio || 1);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const paint = new Painter(context, width, height, scene, coloursOf(canvas));
  paint.axis();
  paint.lanes();
  paint.calls();
  paint.frames();
  paint.events();
  paint.commands();
  paint.names();
  paint.chain();
  paint.now();
  return paint;
}

let themeColours = /** @type {{ [name: string]: string } | null} */ (null);
addEventListener("themechange", () => (themeColours = null));

/** The theme's colours; asked from the browser once per theme, because asking forces it to compute styles. */
function coloursOf(element) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(name).trim();
  return (themeColours ??= {
    text: of("--text"),
    quiet: of("--text-quiet"),
    line: of("--line"),
    strong: of("--line-strong"),
    accent: of("--accent"),
    request: of("--plot-in"),
    response: of("--plot-out"),
    lost: of("--lab-bad"),
    oneway: of("--lab-oneway"),
    panel: of("--panel"),
    raised: of("--raised"),
    call: of("--plot-out"),
    font: style.fontFamily,
  });
}

class Painter {
  constructor(context, width, height, scene, colours) {
    /** @type {CanvasRenderingContext2D} */
    this.context = context;
    this.width = width;
    this.height = height;
    this.scene = scene;
    this.colours = colours;
    this.spots = /** @type {any[]} */ ([]);
    this.texts = /** @type {any[]} */ ([]);
    this.arrows = /** @type {any[]} */ ([]);
    this.labels = (LABEL_WIDTH + (scene.parts.size > 0 ? PARTS_WIDTH : 0)) * scene.unit;
    this.top = AXIS_HEIGHT * scene.unit;
    this.row = (height - this.top) / Math.max(1, scene.lanes.length);
    this.size = Math.max(2.5, Math.min(4.5, this.row / 6)) * Math.min(1.4, scene.unit);
    this.laneOf = new Map(scene.lanes.map((name, index) => [name, this.top + this.row * (index + 0.5)]));
    this.letters = "";
    this.font = Math.round(Math.min(12 * scene.unit, this.row * 0.95));
    this.write(this.font);
    context.textBaseline = "middle";
  }

  /** Texts are in letters of that size from now on. */
  write(size, weight = "") {
    this.letters = `${weight} ${size}px ${this.colours.font}`;
    this.context.font = this.letters;
    if (!widths.has(this.letters)) widths.set(this.letters, new Map());
  }

  widthOf(text) {
    const ofFont = /** @type {Map<string, number>} */ (widths.get(this.letters));
    const known = ofFont.get(text);
    if (known !== undefined) return known;
    if (ofFont.size >= WIDTHS_MOST) ofFont.clear();
    const { width } = this.context.measureText(text);
    ofFont.set(text, width);
    return width;
  }

  x(time) {
    const room = this.width - this.labels;
    return this.labels + 8 + placeOf(this.scene.points, time) * (room - 8 - Math.min(110, room * 0.1));
  }

  /** Moments at which frames were sent; where the axis is broken, how long nothing happened. */
  axis() {
    const { context, scene, colours } = this;
    const y = this.top / 2;
    const taken = /** @type {{ left: number, right: number }[]} */ ([]);
    const free = (from, to) => taken.every(({ left, right }) => to < left || from > right);
    context.textAlign = "center";
    scene.points.forEach(({ us, gap }, index) => {
      if (!gap) return;
      const [left, right] = [this.x(scene.points[index - 1].us), this.x(us)];
      context.fillStyle = colours.raised;
      context.fillRect(left + 2, this.top, Math.max(0, right - left - 4), this.height - this.top);
      const [text, middle] = [`⋯ ${span(gap)}`, (left + right) / 2];
      const half = this.widthOf(text) / 2 + 4;
      if (!free(middle - half, middle + half)) return;
      taken.push({ left: middle - half, right: middle + half });
      context.fillStyle = colours.quiet;
      context.fillText(text, middle, y);
    });
    for (const { us, gap } of scene.points) {
      const x = this.x(us);
      // Most moments are too near to another: those need no text.
      if (!free(x, x) || (us > scene.now && gap)) continue;
      const text = `${virtualTime(us).slice(0, -4)} s`;
      const half = this.widthOf(text) / 2 + 12;
      if (x - half < this.labels || x + half > this.width || !free(x - half, x + half)) continue;
      taken.push({ left: x - half, right: x + half });
      context.fillStyle = colours.quiet;
      context.fillText(text, x, y);
      this.line(colours.line, 1, x, this.top, x, this.height);
    }
  }

  lanes() {
    const { context, scene, colours } = this;
    context.textAlign = "left";
    for (const name of scene.lanes) {
      const y = this.laneOf.get(name);
      this.line(colours.strong, 1, this.labels, y, this.width, y, 0.55);
      context.fillStyle = colours.text;
      context.fillText(name.length > 8 ? `${name.slice(0, 7)}…` : name, 8, y);
      this.part(name, y);
    }
    context.save();
    context.beginPath();
    context.rect(this.labels, 0, this.width, this.height);
    context.clip();
  }

  /** The roles that the node has in a transaction over several nodes, right-aligned before the lane begins. */
  part(name, y) {
    const { context, scene, colours } = this;
    const text = scene.parts.get(name);
    if (text === undefined || text === name) return;
    this.write(Math.min(this.font, Math.round(10.5 * scene.unit)), "650");
    context.textAlign = "right";
    context.fillStyle = colours.quiet;
    context.fillText(text, this.labels - 8, y);
    this.write(this.font);
    context.textAlign = "left";
  }

  /** A listener's call is a bar on its node's lane, with the keys of its messages; simultaneous ones are side by side.
   * */
  calls() {
    const { context, scene, colours } = this;
    const height = Math.max(4, Math.min(13 * scene.unit, this.row * 0.4));
    const ends = new Map();
    const labels = [];
    for (const call of scene.calls) {
      const y = this.laneOf.get(call.node);
      if (y === undefined || call.since_us > scene.now) continue;
      const tracks = ends.get(call.node) ?? [];
      let track = tracks.findIndex((until) => until <= call.since_us);
      if (track < 0) track = tracks.length;
      tracks[track] = call.until_us ?? Infinity;
      ends.set(call.node, tracks);
      const [left, right] = [this.x(call.since_us), this.x(Math.min(call.until_us ?? scene.now, scene.now))];
      const top = y - height / 2 + (track % 2) * height * 0.62;
      const isBroken = scene.isBroken(call);
      const colour = isBroken ? colours.lost : colours.call;
      context.globalAlpha = isBroken ? 0.55 : 0.28;
      context.fillStyle = colour;
      context.beginPath();
      context.roundRect(left, top, Math.max(4, right - left), height, height / 2);
      context.fill();
      context.globalAlpha = 1;
      if (isBroken || call.until_us === null) {
        context.strokeStyle = colour;
        context.lineWidth = isBroken ? 2 : 1;
        context.stroke();
      }
      this.spots.push({ x: (left + right) / 2, y, call }, { x: left, y, call });
      labels.push({ call, isBroken, x: Math.max(left, this.labels + 4), y: top - this.font * 0.55 });
    }
    // After all bars: those of the lane above would cover them.
    const said = new Map();
    context.textAlign = "left";
    for (const { call, isBroken, x, y } of labels) this.said(call, isBroken, x, y, said);
  }

  /** "C1's listener: ann4" over the bar, where there is room; a broken one is always named. */
  said(call, isBroken, x, y, said) {
    const { context, colours } = this;
    if (this.row < 1.5 * LANE_LEAST && !isBroken) return;
    const keys = call.keys.length > 1 ? `${call.keys[0]} +${call.keys.length - 1}` : call.keys[0];
    const key = keys.length > KEY_LENGTH ? `${keys.slice(0, KEY_LENGTH)}…` : keys;
    const end = said.get(call.node) ?? -Infinity;
    const texts = [t("lab.sequence.call", { node: call.node, key }), key];
    this.write(this.font - 1, isBroken ? "700" : "");
    const text = texts.find((one) => x > end && x + this.widthOf(one) < this.width);
    if (text !== undefined || isBroken) {
      const width = this.widthOf(text ?? key);
      const left = Math.max(this.labels, Math.min(x, this.width - width - 4));
      context.fillStyle = colours.panel;
      context.globalAlpha = 0.8;
      context.fillRect(left - 2, y - this.font * 0.5, width + 4, this.font);
      this.texts.push({
        left: left - 2,
        top: y - this.font * 0.5,
        right: left + width + 2,
        bottom: y + this.font * 0.5,
      });
      context.globalAlpha = 1;
      context.fillStyle = isBroken ? colours.lost : colours.text;
      context.fillText(text ?? key, left, y);
      said.set(call.node, left + width + 6);
    }
    this.write(this.font);
  }

  frames() {
    const { scene, colours } = this;
    for (const frame of scene.frames) {
      const [y1, y2] = [this.laneOf.get(frame.source), this.laneOf.get(frame.target)];
      if (y1 === undefined || y2 === undefined || frame.sent_us > scene.now || y1 === y2) continue;
      const isReply = frame.kind === "response";
      const colour = frame.dropped
        ? colours.lost
        : frame.is_oneway
          ? colours.oneway
          : isReply
            ? colours.response
            : frame.kind === "request" || frame.kind === "frame"
              ? colours.request
              : colours.quiet;
      const whole = Math.max(1, (frame.dropped ? frame.sent_us + scene.flightUs : frame.arrives_us) - frame.sent_us);
      const share = frame.dropped ? 0.5 : Math.min(1, (scene.now - frame.sent_us) / whole);
      const [x1, x2] = [this.x(frame.sent_us), this.x(frame.sent_us + whole)];
      const [x, y] = [x1 + (x2 - x1) * share, y1 + (y2 - y1) * share];
      this.line(colour, 1.4, x1, y1, x, y, 1, isReply ? REPLY_DASHES : SOLID);
      this.arrows.push({ frame, x1, y1, x2: x, y2: y, colour });
      if (frame.dropped) this.cross(x, y, colour);
      else this.arrowHead(x1, y1, x, y, colour);
      this.spots.push({ x: (x1 + x) / 2, y: (y1 + y) / 2, frame }, { x, y, frame });
    }
  }

  /** The names of the arrows, where they cover neither a lane nor another text; the newest first. */
  names() {
    const { context, colours } = this;
    const bounds = { left: this.labels + 2, top: this.top, right: this.width, bottom: this.height };
    const room = new LabelRoom(this.texts, bounds);
    for (const y of this.laneOf.values()) room.taken.push({ left: 0, right: this.width, top: y - 2, bottom: y + 2 });
    const size = this.font - 1;
    this.write(size);
    context.textAlign = "left";
    for (const { frame, x1, y1, x2, y2, colour } of this.arrows.reverse()) {
      const text = shortName(frame);
      const width = this.widthOf(text);
      const place = room.place(NAME_SHARES, (share) => {
        const [x, y] = [x1 + (x2 - x1) * share + 4, y1 + (y2 - y1) * share];
        return { left: x, top: y - size / 2, right: x + width + 4, bottom: y + size / 2 };
      });
      if (!place) continue;
      context.fillStyle = colours.panel;
      context.globalAlpha = 0.8;
      context.fillRect(place.left, place.top, width + 4, size);
      context.globalAlpha = 1;
      context.fillStyle = colour;
      context.fillText(text, place.left + 2, (place.top + place.bottom) / 2);
    }
    this.write(this.font);
  }

  events() {
    const { context, scene, colours } = this;
    context.fillStyle = colours.text;
    for (let index = firstAtOrAfter(scene.journal, scene.left); index < scene.journal.length; index += 1) {
      const entry = scene.journal[index];
      if (entry.number > scene.lastEvent || entry.time > scene.right) break;
      const y = this.laneOf.get(entry.node);
      if (y === undefined || !scene.isShown(entry)) continue;
      const x = this.x(entry.time);
      context.fillRect(x - this.size / 2, y - this.size / 2, this.size, this.size);
      this.spots.push({ x, y, entry });
    }
  }

  commands() {
    const { context, scene, colours } = this;
    for (const command of scene.commands) {
      if (command.time_us < scene.left || command.time_us > scene.now) continue;
      const x = this.x(command.time_us);
      const y = this.laneOf.get(command.target);
      this.line(colours.lost, 1.5, x, this.top, x, this.height, 0.8, FAULT_DASHES);
      context.fillStyle = colours.lost;
      if (y !== undefined) this.flash(x, y);
      context.textAlign = "left";
      this.plate(command.name, x + 6, this.top + 7 * scene.unit);
    }
  }

  chain() {
    const { scene, colours } = this;
    for (let index = 0; index < scene.chain.length; index += 1) {
      const [entry, cause] = [scene.chain[index], scene.chain[index + 1]];
      const [x, y] = [this.x(entry.time), this.laneOf.get(entry.node)];
      if (y === undefined) continue;
      if (cause && this.laneOf.has(cause.node))
        this.line(colours.text, 2.6, this.x(cause.time), this.laneOf.get(cause.node), x, y);
      this.ring(x, y, index === 0 ? 8 : 5.5);
    }
  }

  now() {
    const x = this.x(this.scene.now);
    this.line(this.colours.accent, 2, x, this.top - 4, x, this.height);
    this.context.restore();
  }

  // ------------------------------------------------------------------------------------------------ strokes

  line(colour, lineWidth, x1, y1, x2, y2, alpha = 1, dashes = SOLID) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = lineWidth;
    context.setLineDash(dashes);
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    context.setLineDash(SOLID);
    context.globalAlpha = 1;
  }

  arrowHead(x1, y1, x2, y2, colour) {
    const { context } = this;
    const angle = Math.atan2(y2 - y1, x2 - x1);
    const length = 6 * this.scene.unit;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x2, y2);
    for (let turn = 2.75; turn >= -2.75; turn -= 5.5)
      context.lineTo(x2 + length * Math.cos(angle + turn), y2 + length * Math.sin(angle + turn));
    context.fill();
  }

  cross(x, y, colour) {
    const reach = 4.5 * this.scene.unit;
    this.line(colour, 2.5, x - reach, y - reach, x + reach, y + reach);
    this.line(colour, 2.5, x - reach, y + reach, x + reach, y - reach);
  }

  flash(x, y) {
    const { context } = this;
    const scale = 0.95 * this.scene.unit;
    context.beginPath();
    for (let at = 0; at < FLASH.length; at += 2) context.lineTo(x + FLASH[at] * scale, y + FLASH[at + 1] * scale);
    context.fill();
  }

  ring(x, y, radius) {
    const { context } = this;
    context.strokeStyle = this.colours.accent;
    context.lineWidth = 2.4;
    context.beginPath();
    context.arc(x, y, radius * Math.min(1.4, this.scene.unit), 0, 2 * Math.PI);
    context.stroke();
  }

  plate(text, x, y) {
    const { context, colours } = this;
    const width = this.widthOf(text) + 8;
    const left = x + width > this.width ? x - width - 12 : x;
    this.texts.push({ left, top: y - 8 * this.scene.unit, right: left + width, bottom: y + 8 * this.scene.unit });
    context.fillStyle = colours.panel;
    context.fillRect(left, y - 8 * this.scene.unit, width, 16 * this.scene.unit);
    context.fillStyle = colours.lost;
    context.fillText(text, left + 4, y);
  }
}
