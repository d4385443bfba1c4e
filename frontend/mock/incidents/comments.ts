/** Comments beside the first incident; two people talk. */
import type * as I from "../src/client/incidents.ts";
import { enter, incidentOf } from "./incidents.ts";
import { INCIDENTS } from "./investigations.ts";
import { id } from "./noise.ts";
import { list, ok, problem, route } from "./routes.ts";
import { me, USERS } from "./state.ts";

const named = (at: number) => ({ id: USERS[at]!.id, name: USERS[at]!.name });
const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 2, minute)).toISOString();

const comment = (n: number, given: Partial<I.Comment>): I.Comment => ({
  id: id("comment", n),
  about: "incident",
  ref: "",
  text: "",
  by: named(1),
  at: at(20 + n),
  edited_at: null,
  earlier: [],
  withdrawn_at: null,
  withdrawn_by: null,
  mentions: [],
  mine: false,
  may_withdraw: true,
  ...given,
});

const first = INCIDENTS[0];
let comments: I.Comment[] = [
  comment(0, {
    text: "The same as on Tuesday? See https://wiki.example.com/runbooks/feed#threads and <b>do not</b> restart it.",
  }),
  comment(1, {
    by: named(2),
    text: "@admin no: on Tuesday the runnable threads were all of the collector.\nThese are the request threads.",
    mentions: [{ ...named(0), told: true }],
    about: "step",
    ref: first?.steps[0]?.key ?? "",
  }),
  comment(2, { withdrawn_at: at(27), withdrawn_by: named(1) }),
  comment(3, {
    by: named(0),
    text: "@lena can you hold the deploy until 03:00 UTC?",
    mentions: [{ ...named(1), told: false }],
    edited_at: at(29),
    earlier: [{ text: "@lena can you hold the deploy?", until: at(29) }],
    mine: true,
  }),
];

route("GET", "/incidents/:id/comments", (_, incident) =>
  list(incident === first?.id ? [...comments].reverse() : []),
);
route("GET", "/incidents/:id/people", () => ok(USERS.map(({ id: one, name }) => ({ id: one, name }))));
route("POST", "/incidents/:id/comments", ({ body }, incident) => {
  const one = incidentOf(incident ?? "");
  if (!one) return problem(404, "incident.not_found", "no such incident");
  const text = String(body.text);
  const { id: mine, name } = me();
  const made = comment(comments.length, {
    text,
    about: body.about as I.CommentAbout,
    ref: String(body.ref),
    by: { id: mine, name },
    at: new Date().toISOString(),
    mine: true,
    mentions: USERS.filter((user) => text.includes(`@${user.name}`)).map((user) => ({
      id: user.id,
      name: user.name,
      told: user.name === "wei",
    })),
  });
  comments = [...comments, made];
  enter(one, "comment", { about: made.ref || `#${one.number}` });
  return ok(made, 201);
});
route("PATCH", "/incidents/:id/comments/:id", ({ body }, incident, which) =>
  changed(incident, which, "comment_edited", (one) => ({
    ...one,
    text: String(body.text),
    edited_at: new Date().toISOString(),
    earlier: [...one.earlier, { text: one.text, until: new Date().toISOString() }],
  })),
);
route("POST", "/incidents/:id/comments/:id/withdraw", (_, incident, which) =>
  changed(incident, which, "comment_withdrawn", (one) => ({
    ...one,
    text: "",
    earlier: [],
    withdrawn_at: new Date().toISOString(),
    withdrawn_by: { id: me().id, name: me().name },
    may_withdraw: false,
  })),
);

function changed(
  incident: string | undefined,
  which: string | undefined,
  kind: string,
  change: (one: I.Comment) => I.Comment,
) {
  const one = comments.find((each) => each.id === which);
  const where = incidentOf(incident ?? "");
  if (!one || !where) return problem(404, "comment.not_found", "no such comment");
  const now = change(one);
  comments = comments.map((each) => (each.id === which ? now : each));
  enter(where, kind, { about: now.ref || `#${where.number}` });
  return ok(now);
}
