import { Button } from "@mantine/core";
import { useState } from "react";
import type { Comment, CommentAbout, Incident } from "../../../client/models";
import { EmptyState, ErrorLine, QueryContent, RowSkeleton } from "../../../components/EmptyState";
import { type CommentPart, splitComment } from "../../../core/incidents/comment";
import { useComments, useEditComment, useWithdrawComment } from "../../../lib/incidents/comments";
import { useLocalized } from "../../../lib/text/i18n";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { type IncidentView, stepNumber } from "../page/useIncidentView";
import { CommentBox } from "./CommentBox";
import classes from "./Comments.module.css";

/** Number of comments that are initially visible, so that the timeline below stays near. */
const FIRST_COUNT = 20;

/** Comments on the incident as a whole, a step, a hypothesis or a pin. */
export function CommentsPanel({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const query = useComments(incident);
  const [all, setAll] = useState(false);
  return (
    <div className={classes.comments}>
      {incident.permissions.comment && <CommentBox incident={incident} view={view} />}
      <QueryContent query={query} skeleton={<RowSkeleton rows={4} height={56} />}>
        {({ items, next }) =>
          items.length === 0 ? (
            <EmptyState title={t("incidents.comments.none")}>{t("incidents.comments.noneText")}</EmptyState>
          ) : (
            <>
              <ol className={classes.list} aria-live="polite" aria-label={t("incidents.pane.comments")}>
                {(all ? items : items.slice(0, FIRST_COUNT)).map((comment) => (
                  <CommentItem key={comment.id} incident={incident} view={view} comment={comment} />
                ))}
              </ol>
              {!all && items.length > FIRST_COUNT && (
                <Button variant="default" className={classes.showAll} onClick={() => setAll(true)}>
                  {t("incidents.comments.all", { count: items.length })}
                </Button>
              )}
              {next && (all || items.length <= FIRST_COUNT) && (
                <p className="dim">{t("incidents.comments.older")}</p>
              )}
            </>
          )
        }
      </QueryContent>
    </div>
  );
}

interface Props {
  incident: Incident;
  view: IncidentView;
  comment: Comment;
}

function CommentItem({ incident, view, comment }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [editing, setEditing] = useState(false);
  const withdraw = useWithdrawComment(incident);
  return (
    <li className={classes.item}>
      <div className={classes.head}>
        <strong>{comment.by?.name}</strong>
        <time className="num dim" dateTime={comment.at} title={time.zoneName}>
          {time.iso(comment.at)}
        </time>
        <CommentSubject incident={incident} view={view} about={comment.about} at={comment.ref} />
        {comment.can_edit && !comment.withdrawn_at && !editing && (
          <Button variant="subtle" size="compact-xs" onClick={() => setEditing(true)}>
            {t("incidents.comments.edit")}
          </Button>
        )}
        {comment.can_withdraw && !editing && (
          <Button
            variant="subtle"
            size="compact-xs"
            loading={withdraw.isPending}
            onClick={() => withdraw.mutate(comment.id)}
          >
            {t("incidents.comments.withdraw")}
          </Button>
        )}
      </div>
      {editing ? (
        <EditComment incident={incident} comment={comment} done={() => setEditing(false)} />
      ) : comment.withdrawn_at ? (
        <p className={classes.withdrawn}>
          {t("incidents.comments.gone", {
            who: comment.withdrawn_by?.name ?? "",
            at: time.iso(comment.withdrawn_at),
          })}
        </p>
      ) : (
        <p className={classes.text} dir="auto">
          <CommentText text={comment.text} names={comment.mentions.map((each) => each.name)} />
        </p>
      )}
      <CommentHistory comment={comment} />
      <ErrorLine error={withdraw.error} />
    </li>
  );
}

/** Earlier versions of a comment, and the mentioned users who were or were not notified. */
function CommentHistory({ comment }: { comment: Comment }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const notified = comment.mentions.filter((mention) => mention.notified).map((mention) => mention.name);
  const unnotified = comment.mentions.filter((mention) => !mention.notified).map((mention) => mention.name);
  return (
    <>
      {comment.earlier.length > 0 && (
        <details className={classes.earlier}>
          <summary>{t("incidents.comments.edited", { count: comment.earlier.length })}</summary>
          <ol className={classes.list}>
            {comment.earlier.map((item) => (
              <li key={item.until}>
                <span className="num dim">{t("incidents.comments.until", { at: time.iso(item.until) })}</span>
                <p className={classes.text} dir="auto">
                  {item.text}
                </p>
              </li>
            ))}
          </ol>
        </details>
      )}
      {notified.length > 0 && (
        <p className={classes.meta}>{t("incidents.comments.notified", { names: notified.join(", ") })}</p>
      )}
      {unnotified.length > 0 && (
        <p className={classes.meta}>
          {t("incidents.comments.notNotified", { names: unnotified.join(", ") })}
        </p>
      )}
    </>
  );
}

/** Comment text with links and mentioned names; HTML in it is displayed as plain text. */
function CommentText({ text, names }: { text: string; names: readonly string[] }) {
  return splitComment(text, names).map((commentPart: CommentPart, at) =>
    commentPart.kind === "link" ? (
      <a key={at} href={commentPart.href} target="_blank" rel="noopener noreferrer nofollow ugc">
        {commentPart.text}
      </a>
    ) : commentPart.kind === "person" ? (
      <b key={at} className={classes.person}>
        {commentPart.text}
      </b>
    ) : (
      commentPart.text
    ),
  );
}

interface AboutProps {
  incident: Incident;
  view: IncidentView;
  about: CommentAbout;
  at: string;
}

/** Subject of a comment: a button that opens its step or the pins, or the summary of its hypothesis. */
function CommentSubject({ incident, view, about, at }: AboutProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  if (about === "incident") return null;
  const step = incident.steps.find((step) => step.key === at);
  if (about === "step")
    return (
      <button type="button" className={classes.about} onClick={() => view.choose(at)}>
        {step ? `${stepNumber(view, at)} ${localize(step.question)}` : at}
      </button>
    );
  if (about === "pin")
    return (
      <button
        type="button"
        className={classes.about}
        onClick={() => view.set({ pane: "pins" }, { push: true })}
      >
        {t("incidents.comments.pin")}
      </button>
    );
  return (
    <span className={classes.about}>
      {localize(incident.hypotheses.find((hypothesis) => hypothesis.key === at)?.summary) || at}
    </span>
  );
}

function EditComment({
  incident,
  comment,
  done,
}: {
  incident: Incident;
  comment: Comment;
  done: () => void;
}) {
  const edit = useEditComment(incident, done);
  return (
    <CommentBox.Field
      incident={incident}
      first={comment.text}
      pending={edit.isPending}
      error={edit.error}
      send={(text) => edit.mutate({ id: comment.id, text })}
      cancel={done}
    />
  );
}
