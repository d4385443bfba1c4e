import { ActionIcon, Button, Popover, Select } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import { Pin } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "../../components/Link";
import { Mark } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { currentIncident } from "../../lib/currentIncident";
import { useIncidents } from "../../lib/incidents";
import { useMay } from "../../lib/queries";
import { type PinDraft, usePin } from "../../lib/usePin";
import classes from "./Pin.module.css";

interface Props {
  kind: PinDraft["kind"];
  of: Record<string, unknown>;
  /** The view that shows it again, where that is not the address as it stands. */
  view?: string;
  /** What is pinned, for those who do not see it. */
  label: string;
  /** A sign only, for rows. */
  small?: boolean;
  disabled?: boolean;
}

/** Makes what is shown here evidence of an incident: the one that was looked at last, or another that is open. */
export function PinButton({ label, small = false, disabled = false, ...draft }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const [open, setOpen] = useState(false);
  if (!may("incident.edit")) return null;
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
            className={classes.small ?? ""}
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
      <Popover.Dropdown>{open && <Ask draft={draft} label={label} />}</Popover.Dropdown>
    </Popover>
  );
}

function Ask({ draft, label }: { draft: Omit<Props, "label">; label: string }) {
  const { t } = useTranslation();
  const here = useLocation();
  const incidents = useIncidents();
  const [current] = useState(currentIncident);
  const [chosen, setChosen] = useState(current?.incident);
  const pin = usePin();
  const open = (incidents.data ?? []).filter((one) => one.state !== "resolved");
  const incident = open.find((one) => one.id === chosen) ?? open[0];
  const step = incident && incident.id === current?.incident ? current.step : "";
  if (pin.isSuccess && incident)
    return (
      <p className={classes.done} role="status">
        <Mark tone="ok">{t("incidents.pin.done")}</Mark>
        <Link
          to="/incidents/$incidentId"
          params={{ incidentId: incident.id }}
          search={{ step, pane: "pins" } as never}
        >
          {t("incidents.number", { number: incident.number })}
        </Link>
      </p>
    );
  return (
    <div className={classes.ask}>
      <p className={classes.what}>{label}</p>
      {incidents.data && open.length === 0 ? (
        <p className={classes.what}>
          {t("incidents.pin.noIncident")} <Link to="/incidents">{t("nav.incidents")}</Link>
        </p>
      ) : (
        <Select
          size="xs"
          aria-label={t("incidents.pin.to")}
          data={open.map((one) => ({ value: one.id, label: `#${one.number} ${one.title}` }))}
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
              kind: draft.kind,
              ref: draft.of,
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
