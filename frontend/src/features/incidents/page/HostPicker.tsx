import { Plus } from "lucide-react";
import { useState } from "react";
import type { Incident } from "../../../client/models";
import { Link } from "../../../components/Link";
import { VERDICT_STATES, VerdictIcon } from "../../../components/VerdictIcon";
import { shortenHost } from "../../../core/charts/chartScale";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./Incidents.module.css";
import type { IncidentView } from "./useIncidentView";

const MAX_VISIBLE = 6;
/** Longest name, in letters. */
const MAX_NAME = 34;

interface Props {
  incident: Incident;
  view: IncidentView;
  /** Whether to show each host's verdict for the selected step. */
  verdicts?: boolean;
}

/** Hosts of the incident; the selected host applies to all panes. */
export function HostPicker({ incident, view, verdicts = false }: Props) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const visible = isOpen
    ? incident.hosts
    : incident.hosts.filter((host, at) => at < MAX_VISIBLE || host.id === view.host?.id);
  const hidden = incident.hosts.length - visible.length;
  return (
    <fieldset className={classes.hosts} aria-label={t("incidents.hosts.title")}>
      {visible.map((host) => {
        const answer = view.step?.hosts.find((each) => each.host_id === host.id);
        const verdict = answer?.verdict ?? "not_collected";
        return (
          <button
            key={host.id}
            type="button"
            className={classes.host}
            aria-pressed={host.id === view.host?.id}
            onClick={() => view.set({ host: host.id })}
            title={[
              host.name,
              t(`incidents.hosts.role.${host.role}`),
              ...(host.scope.value ? [host.scope.value] : []),
              ...(host.can_capture ? [] : [t("incidents.hosts.cannotCapture")]),
            ].join(" · ")}
          >
            {verdicts && (
              <VerdictIcon verdict={VERDICT_STATES[verdict]} label={t(`playbooks.verdict.${verdict}`)} />
            )}
            <span className="mono">{shortenHost(host.name, MAX_NAME)}</span>
            {host.role !== "suspect" && <span className="dim">{t(`incidents.hosts.role.${host.role}`)}</span>}
            {verdicts && answer?.person && <span className={classes.byPerson}>{answer.person.by?.name}</span>}
          </button>
        );
      })}
      {(hidden > 0 || isOpen) && (
        <button
          type="button"
          className={classes.host}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? t("incidents.hosts.fewer") : t("incidents.hosts.more", { count: hidden })}
        </button>
      )}
      {!verdicts && incident.permissions.edit && (
        <button type="button" className={classes.host} onClick={() => view.set({ dialog: "hosts" })}>
          <Plus size={12} aria-hidden /> {t("incidents.hosts.add")}
        </button>
      )}
      {!verdicts && view.host && (
        <Link to="/hosts/$hostId" params={{ hostId: view.host.id }} size="xs">
          {t("incidents.hosts.open")}
        </Link>
      )}
    </fieldset>
  );
}
