import { Button } from "@mantine/core";
import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { VERDICT_STATES, VerdictIcon } from "../../../components/VerdictIcon";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useTranslation } from "../../../lib/text/useTranslation";
import { PinItem } from "../../../widgets/pins/PinItem";
import type { HostAnswer, PersonVerdict } from "../api";
import { EditConflict } from "../page/EditConflict";
import classes from "./Evidence.module.css";

/** Verdict of a user with note and cited pins, and a button to withdraw it. */
export function VerdictNote(props: { incident: Incident; answer: HostAnswer; person: PersonVerdict }) {
  const { incident, person } = props;
  const { t } = useTranslation();
  const write = useIncidentWrite(incident);
  const pins = incident.pins.filter((pin) => person.pins.includes(pin.id));
  return (
    <div className={classes.person}>
      <p className={classes.verdict}>
        <VerdictIcon verdict={VERDICT_STATES[person.verdict]} />
        <span>
          {t("incidents.verdict.of", {
            name: person.by?.name ?? incident.origin?.authors[person.id] ?? "–",
            verdict: t(`playbooks.verdict.${person.verdict}`),
          })}
        </span>
        <span className="dim">
          <RelativeTime at={person.at} />
        </span>
        {incident.permissions.edit && (
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
        {pins.map((pin) => (
          <PinItem key={pin.id} incident={incident} pin={pin} />
        ))}
      </ul>
      <ErrorLine error={write.error} />
      <EditConflict incident={incident} write={write} />
    </div>
  );
}
