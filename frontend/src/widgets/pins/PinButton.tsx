import { ActionIcon, Button, Popover, Select } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import { Pin } from "lucide-react";
import { useState } from "react";
import { ErrorLine } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { StatusIcon } from "../../components/StatusIcon";
import { getCurrentIncident } from "../../lib/incidents/currentIncident";
import { useIncidents } from "../../lib/incidents/incidents";
import { type PinTarget, usePin } from "../../lib/incidents/usePin";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Pin.module.css";

interface Props {
  target: PinTarget;
  /** Path and query of the pinned view; default: the current URL. */
  view?: string;
  /** Accessible name: the pinned object. */
  label: string;
  /** Render only an icon, for rows. */
  small?: boolean;
  disabled?: boolean;
}

/** Render a button that pins `target` to an open incident; default: the last viewed incident. */
export function PinButton({ label, small = false, disabled = false, ...draft }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const [open, setOpen] = useState(false);
  if (!can("incident.edit")) return null;
  const flip = () => setOpen(!open);
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-end" trapFocus returnFocus withArrow>
      <Popover.Target>
        {small ? (
          <ActionIcon
            size="sm"
            onClick={flip}
            aria-label={label}
            title={label}
            className={classes.smallButton ?? ""}
          >
            <Pin size={13} />
          </ActionIcon>
        ) : (
          <Button
            variant="default"
            leftSection={<Pin size={14} />}
            onClick={flip}
            disabled={disabled}
            title={disabled ? t("incidents.pin.nothing") : label}
          >
            {t("incidents.pin.pin")}
          </Button>
        )}
      </Popover.Target>
      <Popover.Dropdown>{open && <IncidentSelect draft={draft} label={label} />}</Popover.Dropdown>
    </Popover>
  );
}

function IncidentSelect({ draft, label }: { draft: Omit<Props, "label">; label: string }) {
  const { t } = useTranslation();
  const here = useLocation();
  const incidents = useIncidents();
  const [current] = useState(getCurrentIncident);
  const [chosen, setChosen] = useState(current?.incident);
  const pin = usePin();
  const open = (incidents.data ?? []).filter((incident) => incident.state !== "resolved");
  const incident = open.find((incident) => incident.id === chosen) ?? open[0];
  const step = incident && incident.id === current?.incident ? current.step : "";
  if (pin.isSuccess && incident)
    return (
      <p className={classes.done} role="status">
        <StatusIcon tone="ok">{t("incidents.pin.done")}</StatusIcon>
        <Link
          to="/incidents/$incidentId"
          params={{ incidentId: incident.id }}
          search={{ step, pane: "pins" }}
        >
          {t("incidents.number", { number: incident.number })}
        </Link>
      </p>
    );
  return (
    <div className={classes.incidentSelect}>
      <p className={classes.text}>{label}</p>
      {incidents.data && open.length === 0 ? (
        <p className={classes.text}>
          {t("incidents.pin.noIncident")} <Link to="/incidents">{t("nav.incidents")}</Link>
        </p>
      ) : (
        <Select
          size="xs"
          aria-label={t("incidents.pin.to")}
          data={open.map((incident) => ({
            value: incident.id,
            label: `#${incident.number} ${incident.title}`,
          }))}
          value={incident?.id ?? null}
          onChange={(value) => setChosen(value ?? undefined)}
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
        />
      )}
      <Button
        size="xs"
        disabled={!incident}
        loading={pin.isPending}
        onClick={() =>
          incident &&
          pin.mutate({
            incident: incident.id,
            step,
            draft: {
              ...draft.target,
              view: draft.view ?? `${here.pathname}${here.searchStr}`,
            },
          })
        }
      >
        {incident ? t("incidents.pin.toNumber", { number: incident.number }) : t("incidents.pin.pin")}
      </Button>
      <ErrorLine error={pin.error ?? incidents.error} />
    </div>
  );
}
