import { Menu } from "@mantine/core";
import { ChevronDown } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Incident, IncidentHypothesis } from "../../client/incidents";
import { ErrorLine } from "../../components/States";
import { useWrite } from "../../lib/incidents";
import classes from "./Chain.module.css";
import { Conflict } from "./Conflict";
import { mayBeSetAside, playbookOf } from "./play";
import type { IncidentView } from "./view";

const STATES = ["open", "refuted", "likely", "confirmed"] as const;

interface Props {
  incident: Incident;
  view: IncidentView;
  hypothesis: IncidentHypothesis;
}

/** What people decided about a hypothesis. The server refuses what the evidence does not carry, and says why. */
export function HypothesisState({ incident, view, hypothesis }: Props) {
  const { t } = useTranslation();
  const write = useWrite(incident);
  const book = playbookOf(incident, hypothesis.key);
  const word = t(`incidents.hypothesis.state.${hypothesis.state}`);
  if (!incident.may.edit) return <strong>{word}</strong>;
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
          {STATES.filter((one) => one !== hypothesis.state).map((state) => (
            <Menu.Item
              key={state}
              onClick={() =>
                write.send({ method: "PATCH", path: `/hypotheses/${hypothesis.id}`, body: { state } })
              }
            >
              {t(`incidents.hypothesis.to.${state}`)}
            </Menu.Item>
          ))}
          {book && mayBeSetAside(incident, book.id) && (
            <Menu.Item onClick={() => view.set({ act: "aside", what: book.id })}>
              {t("incidents.aside.title")}
            </Menu.Item>
          )}
          {book?.aside && (
            <Menu.Item
              onClick={() =>
                write.send({ method: "PATCH", path: `/playbooks/${book.id}`, body: { aside: false } })
              }
            >
              {t("incidents.aside.takeUp")}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <ErrorLine error={write.error} />
      <Conflict incident={incident} write={write} />
    </>
  );
}
