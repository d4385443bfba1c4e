/** Upload addresses for a single bundle. */
import type { UploadAddress } from "../../src/features/imports/api.ts";
import { CAPTURES, HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondList, respondProblem } from "../server/routes.ts";
import { state, USERS } from "../server/state.ts";

const MINUTE_MS = 60_000;
const at = (minutes: number): string => new Date(Date.now() + minutes * MINUTE_MS).toISOString();

const USED: UploadAddress = {
  id: makeId("upload", 0),
  state: "used",
  host: null,
  host_name: "console-1",
  plan: "triage",
  seconds: null,
  max_bytes: 64 << 20,
  note: "",
  expires_at: at(-20),
  created_by: { id: USERS[0]!.id, name: USERS[0]!.name },
  created_at: at(-80),
  used_at: at(-60),
  used_from: "192.0.2.7",
  bytes: 734_003,
  attempts: 1,
  failure: null,
  capture_id: CAPTURES[0]!.id,
};

export const createUploads = (): UploadAddress[] => [
  {
    ...USED,
    id: makeId("upload", 1),
    state: "open",
    host_name: "console-2",
    expires_at: at(40),
    used_at: null,
    used_from: null,
    bytes: null,
    failure: { key: "upload.cut", params: { bytes: 4096 } },
    capture_id: null,
  },
  USED,
];
export const mockUploads = { uploads: createUploads() };

addRoute("GET", "/uploads", () => respondList(state.empty ? [] : mockUploads.uploads));
addRoute("POST", "/uploads", ({ body }) => {
  const host = HOSTS.find((host) => host.id === body.host_id);
  const uploadAddress: UploadAddress = {
    ...mockUploads.uploads[0]!,
    id: makeId("upload", mockUploads.uploads.length + 1),
    host: host ? { id: host.id, name: host.name } : null,
    host_name: host?.name ?? String(body.host_name),
    plan: String(body.plan),
    failure: null,
  };
  mockUploads.uploads = [uploadAddress, ...mockUploads.uploads];
  const url = "https://culprit.example/up/J1t7mZ3k8QwX0cV5nB2lP9sD4fG6hY0aR1eT7uI3oM8";
  return respond(
    {
      ...uploadAddress,
      url,
      command: `d=$(mktemp -d) && cd "$d" && curl -fsS '${url}' -o culprit.sh && sh culprit.sh`,
    },
    201,
  );
});
addRoute("DELETE", "/uploads/:id", (_, uploadId) => {
  if (!mockUploads.uploads.some((each) => each.id === uploadId))
    return respondProblem(404, "upload.not_found", "There is no such upload address.");
  mockUploads.uploads = mockUploads.uploads.map((each) =>
    each.id === uploadId ? { ...each, state: "revoked" } : each,
  );
  return respond(null, 204);
});
