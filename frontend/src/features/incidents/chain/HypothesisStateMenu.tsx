import { Menu } from "@mantine/core";
import { ChevronDown } from "lucide-react";
import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { IncidentHypothesis } from "../api";
import { EditConflict } from "../page/EditConflict";
import type { IncidentView } from "../page/useIncidentView";
import classes from "./EvidenceChain.module.css";
import { canDismissPlaybook, findPlaybook } from "./playbookState";

const STATES = ["open", "refuted", "likely", "confirmed"] as const;

interface Props {
  incident: Incident;
  view: IncidentView;
  hypothesis: IncidentHypothesis;
}

/** Menu that sets the state of a hypothesis. The server rejects a state without evidence and returns the reason. */
export function HypothesisStateMenu({ incident, view, hypothesis }: Props) {
  const { t } = useTranslation();
  const write = useIncidentWrite(incident);
  const book = findPlaybook(incident, hypothesis.key);
  // A state set by a user takes precedence over the status computed from the steps.
  const word =
    hypothesis.state === "open"
      ? t(`playbooks.status.${hypothesis.status}`)
      : t(`incidents.hypothesis.state.${hypothesis.state}`);
  if (!incident.permissions.edit) return <strong>{word}</strong>;
  return (
    <>
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <button
            type="button"
            className={classes.state}
            data-state={hypothesis.state}
            aria-label={t("incidents.hypothesis.decide", { state: word })}
          >
            {word} <ChevronDown size={12} aria-hidden />
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          {STATES.filter((state) => state !== hypothesis.state).map((state) => (
            <Menu.Item
              key={state}
              onClick={() =>
                write.send({ method: "PATCH", path: `/hypotheses/${hypothesis.id}`, body: { state } })
              }
            >
              {t(`incidents.hypothesis.to.${state}`)}
            </Menu.Item>
          ))}
          {book && canDismissPlaybook(incident, book.id) && (
            <Menu.Item onClick={() => view.set({ dialog: "dismiss", what: book.id })}>
              {t("incidents.dismissal.title")}
            </Menu.Item>
          )}
          {book?.dismissed && (
            <Menu.Item
              onClick={() =>
                write.send({ method: "PATCH", path: `/playbooks/${book.id}`, body: { dismissed: false } })
              }
            >
              {t("incidents.dismissal.restore")}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <ErrorLine error={write.error} />
      <EditConflict incident={incident} write={write} />
    </>
  );
}
