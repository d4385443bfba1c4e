import { Button } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Comment, CommentAbout, Incident } from "../../client/incidents";
import { Empty, ErrorLine, Loaded, RowSkeleton } from "../../components/States";
import { type Piece, piecesOf } from "../../core/comment";
import { useComments, useMendComment, useWithdrawComment } from "../../lib/comments";
import { usePick } from "../../lib/i18n";
import { useTimeFormat } from "../../lib/useFormat";
import { CommentBox } from "./CommentBox";
import classes from "./Comments.module.css";
import { type IncidentView, numberOf } from "./view";

/** So many are shown until somebody asks for all: the timeline below stays within reach. */
const SHOWN = 20;

/** What people say to each other beside the incident: about all of it, a step, a hypothesis or a pin. */
export function Comments({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const query = useComments(incident);
  const [all, setAll] = useState(false);
  return (
    <div className={classes.comments}>
      {incident.may.comment && <CommentBox incident={incident} view={view} />}
      <Loaded query={query} skeleton={<RowSkeleton rows={4} height={56} />}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty title={t("incidents.comments.none")}>{t("incidents.comments.noneText")}</Empty>
          ) : (
            <>
              <ol className={classes.list} aria-live="polite" aria-label={t("incidents.pane.comments")}>
                {(all ? items : items.slice(0, SHOWN)).map((one) => (
                  <One key={one.id} incident={incident} view={view} comment={one} />
                ))}
              </ol>
              {!all && items.length > SHOWN && (
                <Button variant="default" className={classes.all} onClick={() => setAll(true)}>
                  {t("incidents.comments.all", { count: items.length })}
                </Button>
              )}
              {next && (all || items.length <= SHOWN) && (
                <p className="dim">{t("incidents.comments.older")}</p>
              )}
            </>
          )
        }
      </Loaded>
    </div>
  );
}

interface Props {
  incident: Incident;
  view: IncidentView;
  comment: Comment;
}

function One({ incident, view, comment }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [mending, setMending] = useState(false);
  const withdraw = useWithdrawComment(incident);
  return (
    <li className={classes.one}>
      <div className={classes.head}>
        <strong>{comment.by?.name}</strong>
        <time className="num dim" dateTime={comment.at} title={time.zoneName}>
          {time.iso(comment.at)}
        </time>
        <About incident={incident} view={view} about={comment.about} at={comment.ref} />
        {comment.mine && !comment.withdrawn_at && !mending && (
          <Button variant="subtle" size="compact-xs" onClick={() => setMending(true)}>
            {t("incidents.comments.mend")}
          </Button>
        )}
        {comment.may_withdraw && !mending && (
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
      {mending ? (
        <Mend incident={incident} comment={comment} done={() => setMending(false)} />
      ) : comment.withdrawn_at ? (
        <p className={classes.gone}>
          {t("incidents.comments.gone", {
            who: comment.withdrawn_by?.name ?? "",
            at: time.iso(comment.withdrawn_at),
          })}
        </p>
      ) : (
        <p className={classes.text} dir="auto">
          <Said text={comment.text} names={comment.mentions.map((each) => each.name)} />
        </p>
      )}
      <Trace comment={comment} />
      <ErrorLine error={withdraw.error} />
    </li>
  );
}

/** What it said before, and who was told. */
function Trace({ comment }: { comment: Comment }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const told = comment.mentions.filter((one) => one.told).map((one) => one.name);
  const untold = comment.mentions.filter((one) => !one.told).map((one) => one.name);
  return (
    <>
      {comment.earlier.length > 0 && (
        <details className={classes.earlier}>
          <summary>{t("incidents.comments.edited", { count: comment.earlier.length })}</summary>
          <ol className={classes.list}>
            {comment.earlier.map((one) => (
              <li key={one.until}>
                <span className="num dim">{t("incidents.comments.until", { at: time.iso(one.until) })}</span>
                <p className={classes.text} dir="auto">
                  {one.text}
                </p>
              </li>
            ))}
          </ol>
        </details>
      )}
      {told.length > 0 && (
        <p className={classes.meta}>{t("incidents.comments.told", { names: told.join(", ") })}</p>
      )}
      {untold.length > 0 && (
        <p className={classes.meta}>{t("incidents.comments.untold", { names: untold.join(", ") })}</p>
      )}
    </>
  );
}

/** The text with its addresses and names; everything else in it stays text. */
function Said({ text, names }: { text: string; names: readonly string[] }) {
  return piecesOf(text, names).map((one: Piece, at) =>
    one.kind === "link" ? (
      <a key={at} href={one.href} target="_blank" rel="noopener noreferrer nofollow ugc">
        {one.text}
      </a>
    ) : one.kind === "person" ? (
      <b key={at} className={classes.person}>
        {one.text}
      </b>
    ) : (
      one.text
    ),
  );
}

interface AboutProps {
  incident: Incident;
  view: IncidentView;
  about: CommentAbout;
  at: string;
}

/** What a comment is about, and the way there. */
function About({ incident, view, about, at }: AboutProps) {
  const { t } = useTranslation();
  const pick = usePick();
  if (about === "incident") return null;
  const step = incident.steps.find((one) => one.key === at);
  if (about === "step")
    return (
      <button type="button" className={classes.about} onClick={() => view.choose(at)}>
        {step ? `${numberOf(view, at)} ${pick(step.asks)}` : at}
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
      {pick(incident.hypotheses.find((one) => one.key === at)?.says) || at}
    </span>
  );
}

function Mend({ incident, comment, done }: { incident: Incident; comment: Comment; done: () => void }) {
  const mend = useMendComment(incident, done);
  return (
    <CommentBox.Field
      incident={incident}
      first={comment.text}
      pending={mend.isPending}
      error={mend.error}
      send={(text) => mend.mutate({ id: comment.id, text })}
      cancel={done}
    />
  );
}
