import { Button, Select, Textarea } from "@mantine/core";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import type { CommentAbout, Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { findMentionPrefix } from "../../../core/incidents/comment";
import { useAddComment, useMentionableUsers } from "../../../lib/incidents/comments";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { type IncidentView, stepNumber } from "../page/useIncidentView";
import classes from "./Comments.module.css";

const MAX_SUGGESTIONS = 6;
const MAX_LENGTH = 4000;

/** Form for a new comment; its subject is the incident unless a step, hypothesis or pin is selected. */
export function CommentBox({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const [about, setAbout] = useState("incident ");
  const [round, setRound] = useState(0);
  const add = useAddComment(incident, () => setRound((n) => n + 1));
  const choices = [
    { value: "incident ", label: t("incidents.comments.whole") },
    ...incident.steps.map((step) => ({
      value: `step ${step.key}`,
      label: `${stepNumber(view, step.key)} ${localize(step.question)}`,
    })),
    ...incident.hypotheses.map((hypothesis) => ({
      value: `hypothesis ${hypothesis.key}`,
      label: localize(hypothesis.summary) || hypothesis.key,
    })),
    ...incident.pins.map((pin, n) => ({
      value: `pin ${pin.id}`,
      label: t("incidents.comments.pinNumber", { number: n + 1 }),
    })),
  ];
  return (
    <div className={classes.box}>
      <Select
        size="xs"
        label={t("incidents.comments.about")}
        data={choices}
        value={choices.some((choice) => choice.value === about) ? about : "incident "}
        allowDeselect={false}
        searchable
        onChange={(value) => value && setAbout(value)}
      />
      <CommentField
        key={round}
        incident={incident}
        first=""
        pending={add.isPending}
        error={add.error}
        send={(text) => {
          const [kind = "incident", ref = ""] = about.split(" ");
          add.mutate({ text, about: kind as CommentAbout, ref });
        }}
      />
    </div>
  );
}

interface FieldProps {
  incident: Incident;
  first: string;
  pending: boolean;
  error: unknown;
  send: (text: string) => void;
  cancel?: () => void;
}

/**
 * Text field that suggests user names after `@`. Arrow keys select a name, Enter or Tab inserts it, Escape closes the
 * list. Ctrl+Enter or Cmd+Enter sends the comment.
 */
function CommentField({ incident, first, pending, error, send, cancel }: FieldProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(first);
  const [caret, setCaret] = useState(first.length);
  const [chosen, setChosen] = useState(0);
  const [closed, setClosed] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const list = useId();
  const typed = findMentionPrefix(text, caret);
  const people = useMentionableUsers(incident.id, typed !== undefined);
  const offered =
    typed && !closed
      ? (people.data ?? [])
          .filter((item) => item.name.toLowerCase().startsWith(typed.typed.toLowerCase()))
          .slice(0, MAX_SUGGESTIONS)
      : [];
  const at = Math.min(chosen, offered.length - 1);
  const submit = () => text.trim() && !pending && send(text.trim());
  const take = (name: string) => {
    if (!typed) return;
    const end = typed.at + 1 + name.length + 1;
    setText(`${text.slice(0, typed.at)}@${name} ${text.slice(caret)}`);
    setCaret(end);
    setClosed(true);
    requestAnimationFrame(() => area.current?.setSelectionRange(end, end));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    } else if (offered.length > 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      setChosen((at + (event.key === "ArrowDown" ? 1 : offered.length - 1)) % offered.length);
    } else if (offered[at] && (event.key === "Enter" || event.key === "Tab")) {
      event.preventDefault();
      take(offered[at].name);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      if (offered.length > 0) setClosed(true);
      else cancel?.();
    }
  };
  return (
    <form
      className={classes.field}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Textarea
        ref={area}
        aria-label={t("incidents.comments.write")}
        placeholder={t("incidents.comments.placeholder")}
        value={text}
        maxLength={MAX_LENGTH}
        autosize
        minRows={2}
        maxRows={12}
        {...(cancel ? { autoFocus: true } : {})}
        aria-autocomplete="list"
        aria-controls={offered.length > 0 ? list : undefined}
        aria-activedescendant={offered[at] ? `${list}-${at}` : undefined}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setCaret(event.currentTarget.selectionStart);
          setClosed(false);
          setChosen(0);
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onKeyDown={onKey}
      />
      {offered.length > 0 && (
        <div
          id={list}
          role="listbox"
          aria-label={t("incidents.comments.people")}
          className={classes.suggestions}
        >
          {offered.map((item, n) => (
            <button
              key={item.id}
              id={`${list}-${n}`}
              type="button"
              role="option"
              tabIndex={-1}
              aria-selected={n === at}
              className={classes.suggestion}
              onMouseDown={(event) => {
                event.preventDefault();
                take(item.name);
              }}
            >
              @{item.name}
            </button>
          ))}
        </div>
      )}
      <div className={classes.buttons}>
        <Button type="submit" size="xs" disabled={!text.trim()} loading={pending}>
          {cancel ? t("action.save") : t("incidents.comments.send")}
        </Button>
        {cancel && (
          <Button variant="default" size="xs" onClick={cancel}>
            {t("action.cancel")}
          </Button>
        )}
        <ErrorLine error={error} />
      </div>
    </form>
  );
}
CommentBox.Field = CommentField;
