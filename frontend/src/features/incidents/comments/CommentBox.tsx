import { Button, Select, Textarea } from "@mantine/core";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { CommentAbout, Incident } from "../../client/incidents";
import { ErrorLine } from "../../components/States";
import { typedName } from "../../core/comment";
import { useAddComment, usePeople } from "../../lib/comments";
import { usePick } from "../../lib/i18n";
import classes from "./Comments.module.css";
import { type IncidentView, numberOf } from "./view";

const MOST_OFFERED = 6;
const LONGEST = 4000;

/** Where a comment is written, and what it is about: the step that is looked at, unless another is chosen. */
export function CommentBox({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const pick = usePick();
  const [about, setAbout] = useState("incident ");
  const [round, setRound] = useState(0);
  const add = useAddComment(incident, () => setRound((n) => n + 1));
  const choices = [
    { value: "incident ", label: t("incidents.comments.whole") },
    ...incident.steps.map((one) => ({
      value: `step ${one.key}`,
      label: `${numberOf(view, one.key)} ${pick(one.asks)}`,
    })),
    ...incident.hypotheses.map((one) => ({
      value: `hypothesis ${one.key}`,
      label: pick(one.says) || one.key,
    })),
    ...incident.pins.map((one, n) => ({
      value: `pin ${one.id}`,
      label: t("incidents.comments.pinNumber", { number: n + 1 }),
    })),
  ];
  return (
    <div className={classes.box}>
      <Select
        size="xs"
        label={t("incidents.comments.about")}
        data={choices}
        value={choices.some((one) => one.value === about) ? about : "incident "}
        allowDeselect={false}
        searchable
        onChange={(value) => value && setAbout(value)}
      />
      <Field
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

/** The text, with names offered behind `@`: arrows choose, Enter or Tab takes, Escape closes; Ctrl+Enter sends. */
function Field({ incident, first, pending, error, send, cancel }: FieldProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(first);
  const [caret, setCaret] = useState(first.length);
  const [chosen, setChosen] = useState(0);
  const [closed, setClosed] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const list = useId();
  const typed = typedName(text, caret);
  const people = usePeople(incident.id, typed !== undefined);
  const offered =
    typed && !closed
      ? (people.data ?? [])
          .filter((one) => one.name.toLowerCase().startsWith(typed.typed.toLowerCase()))
          .slice(0, MOST_OFFERED)
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
        maxLength={LONGEST}
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
        <div id={list} role="listbox" aria-label={t("incidents.comments.people")} className={classes.offered}>
          {offered.map((one, n) => (
            <button
              key={one.id}
              id={`${list}-${n}`}
              type="button"
              role="option"
              tabIndex={-1}
              aria-selected={n === at}
              className={classes.offer}
              onMouseDown={(event) => {
                event.preventDefault();
                take(one.name);
              }}
            >
              @{one.name}
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
CommentBox.Field = Field;
