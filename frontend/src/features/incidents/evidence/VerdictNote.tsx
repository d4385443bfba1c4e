import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { HostAnswer, Incident, PersonVerdict } from "../../client/incidents";
import { Ago } from "../../components/Ago";
import { ErrorLine } from "../../components/States";
import { LOOKS, Verdict } from "../../components/Verdict";
import { useWrite } from "../../lib/incidents";
import { PinItem } from "../../renderers/incident/PinItem";
import { Conflict } from "./Conflict";
import classes from "./Evidence.module.css";

/** A verdict that somebody gave, in their words, with what they cite. */
export function PersonSaid(props: { incident: Incident; answer: HostAnswer; person: PersonVerdict }) {
  const { incident, person } = props;
  const { t } = useTranslation();
  const write = useWrite(incident);
  const pins = incident.pins.filter((one) => person.pins.includes(one.id));
  return (
    <div className={classes.person}>
      <p className={classes.verdict}>
        <Verdict look={LOOKS[person.verdict]} />
        <span>
          {t("incidents.verdict.says", {
            name: person.by?.name ?? incident.origin?.said_by[person.id] ?? "–",
            verdict: t(`playbooks.verdict.${person.verdict}`),
          })}
        </span>
        <span className="dim">
          <Ago at={person.at} />
        </span>
        {incident.may.edit && (
          <Button
            size="compact-xs"
            variant="subtle"
            loading={write.pending}
            onClick={() => write.send({ method: "POST", path: `/verdicts/${person.id}/withdraw` })}
          >
            {t("incidents.verdict.withdraw")}
          </Button>
        )}
      </p>
      {person.note && <p className={classes.note}>{person.note}</p>}
      <ul className={classes.list}>
        {pins.map((one) => (
          <PinItem key={one.id} incident={incident} pin={one} />
        ))}
      </ul>
      <ErrorLine error={write.error} />
      <Conflict incident={incident} write={write} />
    </div>
  );
}
