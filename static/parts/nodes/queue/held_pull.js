// @ts-check
// A pull that found nothing and waits at the broker: what is left of its time, as a bar and in words.

import { html } from "htm/preact";
import { t } from "../../../common/i18n.js";
import { Bar, TimeLeft } from "../../lane/bar.js";
import { leftUs } from "./lease.js";

const KIND = "bar-pull";

/** @typedef {{ pull: Picture.HeldPull, clock: Picture.Clock }} Props */

/** @param {Props} props */
const leftOf = ({ pull, clock }) => leftUs(pull.since_us, pull.timeout_ms, clock.now());

/** Reads the time.
    @param {Props} props */
export const pullWords = ({ pull, clock }) =>
  t("pull.left", { offset: pull.offset, time: clock.span(leftOf({ pull, clock })) });

/** The bar alone.
    @param {Props} props */
export const PullBar = (props) =>
  html`<${Bar} left=${leftOf(props)} whole=${props.pull.timeout_ms * 1000} kind=${KIND} />`;

/** The bar and the time.
    @param {Props} props */
export const PullTime = ({ pull, clock }) =>
  html`<${TimeLeft}
    leftUs=${leftOf({ pull, clock })}
    wholeMs=${pull.timeout_ms}
    clock=${clock}
    label="pull.left"
    facts=${{ offset: pull.offset }}
    kind=${KIND}
  />`;
