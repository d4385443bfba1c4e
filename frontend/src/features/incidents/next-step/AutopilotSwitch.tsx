import { Button, Menu } from "@mantine/core";
import { Bot, Square } from "lucide-react";
import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { StatusIcon } from "../../../components/StatusIcon";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useTranslation } from "../../../lib/text/useTranslation";
import { EditConflict } from "../page/EditConflict";

const TIERS = ["light", "standard", "deep"] as const;

/** Menu that starts the autopilot up to a tier; while it runs, its state and a stop button. */
export function AutopilotSwitch({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const write = useIncidentWrite(incident);
  const { autopilot, permissions } = incident;
  const error = (
    <>
      <ErrorLine error={write.error} />
      <EditConflict incident={incident} write={write} />
    </>
  );
  if (autopilot?.state === "running")
    return (
      <>
        <StatusIcon tone="busy">
          {t("incidents.autopilot.running", { tier: t(`tier.${autopilot.tier}.name`) })}
        </StatusIcon>
        {permissions.autopilot && (
          <Button
            variant="outline"
            color="red"
            leftSection={<Square size={12} />}
            loading={write.pending}
            onClick={() => write.send({ method: "DELETE", path: "/autopilot" })}
          >
            {t("incidents.autopilot.stop")}
          </Button>
        )}
        {error}
      </>
    );
  if (!permissions.autopilot || incident.state === "resolved") return null;
  // Without a hypothesis, the autopilot diagnoses the host first.
  const canBeDiagnosed =
    incident.hypotheses.length === 0 &&
    incident.diagnoses.length === 0 &&
    incident.hosts.some((host) => host.can_capture && host.role !== "control");
  const canStart = Boolean(incident.next) || canBeDiagnosed;
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button
            variant="default"
            leftSection={<Bot size={14} />}
            disabled={!canStart}
            loading={write.pending}
            title={t(canStart ? "incidents.autopilot.help" : "incidents.autopilot.nothingToRun")}
          >
            {t("incidents.autopilot.start")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{t("incidents.autopilot.help")}</Menu.Label>
          {TIERS.filter((tier) => permissions.tiers.includes(tier)).map((tier) => (
            <Menu.Item
              key={tier}
              onClick={() => write.send({ method: "POST", path: "/autopilot", body: { tier } })}
            >
              {t("incidents.autopilot.upTo", { tier: t(`tier.${tier}.name`) })}
              <br />
              <span className="dim">{t(`tier.${tier}.meaning`)}</span>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {error}
    </>
  );
}
