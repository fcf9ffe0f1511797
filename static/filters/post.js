// @ts-check
// One way to ask the server; whatever goes wrong comes back as {error}.

import { sendRequest } from "../common/transport.js";
import { t } from "../common/i18n.js";

export async function post(address, body) {
  try {
    const response = await sendRequest(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return await response.json();
  } catch {
    return { error: t("error.no_answer") };
  }
}
