import { Button, Menu } from "@mantine/core";
import { Bot, Square } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { Mark } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { useWrite } from "../../lib/incidents";
import { Conflict } from "./Conflict";

const TIERS = ["light", "standard", "deep"] as const;

/** Lets Culprit take the next steps by itself, up to a tier; or says that it does, and stops it. */
export function Autopilot({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const write = useWrite(incident);
  const { autopilot, may } = incident;
  const error = (
    <>
      <ErrorLine error={write.error} />
      <Conflict incident={incident} write={write} />
    </>
  );
  if (autopilot?.state === "running")
    return (
      <>
        <Mark tone="busy">
          {t("incidents.autopilot.running", { tier: t(`tier.${autopilot.tier}.name`) })}
        </Mark>
        {may.autopilot && (
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
  if (!may.autopilot || incident.state === "resolved") return null;
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button
            variant="default"
            leftSection={<Bot size={14} />}
            disabled={!incident.next}
            loading={write.pending}
            title={t("incidents.autopilot.says")}
          >
            {t("incidents.autopilot.start")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{t("incidents.autopilot.says")}</Menu.Label>
          {TIERS.filter((one) => may.tiers.includes(one)).map((tier) => (
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
