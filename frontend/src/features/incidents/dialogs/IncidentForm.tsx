import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import type { Incident } from "../../../client/models";
import { Dialog } from "../../../components/Dialog";
import type { IncidentWrite } from "../../../lib/incidents/incidents";
import { useTranslation } from "../../../lib/text/useTranslation";
import { EditConflict } from "../page/EditConflict";
import classes from "../page/Incidents.module.css";
import { TransitionError } from "./TransitionError";

interface Props {
  incident: Incident;
  write: IncidentWrite;
  title: string;
  submit: string;
  ready?: boolean;
  size?: string;
  onSubmit: () => void;
  onClose: () => void;
  /** Opens a step that an error lists. */
  onStep?: (key: string) => void;
  children: ReactNode;
}

/** Dialog with a form that changes the incident. It displays errors and edit conflicts, and keeps the input. */
export function IncidentForm(props: Props) {
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
        <TransitionError
          incident={incident}
          error={write.error}
          {...(props.onStep ? { onStep: props.onStep } : {})}
        />
        <EditConflict incident={incident} write={write} />
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
