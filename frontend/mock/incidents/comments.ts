/** Comments of two users on the first incident. */
import type * as T from "../../src/client/models.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondList, respondProblem } from "../server/routes.ts";
import { currentUser, USERS } from "../server/state.ts";
import { addJournalEntry, findIncident } from "./incidents.ts";
import { INCIDENTS } from "./investigations.ts";

const named = (at: number) => ({ id: USERS[at]!.id, name: USERS[at]!.name });
const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 2, minute)).toISOString();

const comment = (n: number, fields: Partial<T.Comment>): T.Comment => ({
  id: makeId("comment", n),
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
  can_edit: false,
  can_withdraw: true,
  ...fields,
});

const first = INCIDENTS[0];
let comments: T.Comment[] = [
  comment(0, {
    text: "The same as on Tuesday? See https://wiki.example.com/runbooks/feed#threads and <b>do not</b> restart it.",
  }),
  comment(1, {
    by: named(2),
    text: "@admin no: on Tuesday the runnable threads were all of the collector.\nThese are the request threads.",
    mentions: [{ ...named(0), notified: true }],
    about: "step",
    ref: first?.steps[0]?.key ?? "",
  }),
  comment(2, { withdrawn_at: at(27), withdrawn_by: named(1) }),
  comment(3, {
    by: named(0),
    text: "@lena can you hold the deploy until 03:00 UTC?",
    mentions: [{ ...named(1), notified: false }],
    edited_at: at(29),
    earlier: [{ text: "@lena can you hold the deploy?", until: at(29) }],
    can_edit: true,
  }),
];

addRoute("GET", "/incidents/:id/comments", (_, incident) =>
  respondList(incident === first?.id ? [...comments].reverse() : []),
);
addRoute("GET", "/incidents/:id/people", () =>
  respond(USERS.map(({ id: userId, name }) => ({ id: userId, name }))),
);
addRoute("POST", "/incidents/:id/comments", ({ body }, incident) => {
  const item = findIncident(incident ?? "");
  if (!item) return respondProblem(404, "incident.not_found", "no such incident");
  const text = String(body.text);
  const { id: mine, name } = currentUser();
  const newComment = comment(comments.length, {
    text,
    about: body.about as T.CommentAbout,
    ref: String(body.ref),
    by: { id: mine, name },
    at: new Date().toISOString(),
    can_edit: true,
    mentions: USERS.filter((user) => text.includes(`@${user.name}`)).map((user) => ({
      id: user.id,
      name: user.name,
      notified: user.name === "wei",
    })),
  });
  comments = [...comments, newComment];
  addJournalEntry(item, "comment_added", { about: newComment.ref || `#${item.number}` });
  return respond(newComment, 201);
});
addRoute("PATCH", "/incidents/:id/comments/:id", ({ body }, incident, which) =>
  changed(incident, which, "comment_edited", (comment) => ({
    ...comment,
    text: String(body.text),
    edited_at: new Date().toISOString(),
    earlier: [...comment.earlier, { text: comment.text, until: new Date().toISOString() }],
  })),
);
addRoute("POST", "/incidents/:id/comments/:id/withdraw", (_, incident, which) =>
  changed(incident, which, "comment_withdrawn", (comment) => ({
    ...comment,
    text: "",
    earlier: [],
    withdrawn_at: new Date().toISOString(),
    withdrawn_by: { id: currentUser().id, name: currentUser().name },
    can_withdraw: false,
  })),
);

function changed(
  incident: string | undefined,
  which: string | undefined,
  kind: string,
  change: (comment: T.Comment) => T.Comment,
) {
  const comment = comments.find((each) => each.id === which);
  const where = findIncident(incident ?? "");
  if (!comment || !where) return respondProblem(404, "comment.not_found", "no such comment");
  const now = change(comment);
  comments = comments.map((each) => (each.id === which ? now : each));
  addJournalEntry(where, kind, { about: now.ref || `#${where.number}` });
  return respond(now);
}
