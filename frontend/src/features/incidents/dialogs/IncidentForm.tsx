import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { Dialog } from "../../components/Dialog";
import type { Writing } from "../../lib/incidents";
import { Conflict } from "./Conflict";
import classes from "./Incidents.module.css";
import { Refusal } from "./Refusal";

interface Props {
  incident: Incident;
  write: Writing;
  title: string;
  submit: string;
  ready?: boolean;
  size?: string;
  onSubmit: () => void;
  onClose: () => void;
  /** Leads to a step that a refusal names. */
  onStep?: (key: string) => void;
  children: ReactNode;
}

/** A dialog that changes the incident. What the server refuses stands in it, with what to do; nothing typed is lost. */
export function ActForm(props: Props) {
  const { incident, write, title, submit, ready = true, size = "40rem", onSubmit, onClose, children } = props;
  const { t } = useTranslation();
  return (
    <Dialog onClose={onClose} title={title} size={size}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && !write.conflict) onSubmit();
        }}
      >
        {children}
        <Refusal
          incident={incident}
          error={write.error}
          {...(props.onStep ? { onStep: props.onStep } : {})}
        />
        <Conflict incident={incident} write={write} />
        <div className={classes.bottom}>
          <Button variant="default" size="sm" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button
            type="submit"
            size="sm"
            disabled={!ready || write.conflict !== undefined}
            loading={write.pending}
          >
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
