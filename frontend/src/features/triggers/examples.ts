import type { Trigger, TriggerKind } from "./api";

const BODIES: Record<TriggerKind, unknown> = {
  generic: { title: "p99 above 2 s", host: "feed-7" },
  alertmanager: {
    version: "4",
    alerts: [{ status: "firing", labels: { alertname: "HighLatency", instance: "feed-7:9100" } }],
  },
  grafana: { alerts: [{ status: "firing", labels: { alertname: "HighLatency", host: "feed-7" } }] },
  pagerduty: {
    event: {
      event_type: "incident.triggered",
      data: { id: "Q1", title: "p99 above 2 s", body: { details: { host: "feed-7" } } },
    },
  },
};

/** Return an example request as a shell command. The caller knows `secret` only right after its creation. */
export function exampleCurl({ kind, proof, path }: Trigger, origin: string, secret: string): string {
  const body = JSON.stringify(BODIES[kind]);
  const url = `${origin}${path}`;
  if (proof === "token") return `curl -H 'Authorization: Bearer ${secret}' -d '${body}' ${url}`;
  if (kind === "pagerduty")
    return [
      `body='${body}'`,
      `sig=$(printf %s "$body" | openssl dgst -sha256 -hmac '${secret}' | sed 's/.* //')`,
      `curl -H "X-PagerDuty-Signature: v1=$sig" -d "$body" ${url}`,
    ].join("\n");
  return [
    `body='${body}'`,
    "at=$(date +%s)",
    `sig=$(printf %s "$at.$body" | openssl dgst -sha256 -hmac '${secret}' | sed 's/.* //')`,
    `curl -H "X-Culprit-Timestamp: $at" -H "X-Culprit-Signature: v1=$sig" -d "$body" ${url}`,
  ].join("\n");
}
