import { Button } from "@mantine/core";
import { Camera, GitCompareArrows, Stethoscope } from "lucide-react";
import { useOpenDialog } from "../../lib/dialogs";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import type { FleetHost } from "./api";
import { SEVERITIES } from "./severities";

/** A diagnosis captures at most this many peers with the host. */
const MAX_PEERS = 20;

interface Props {
  hosts: readonly FleetHost[];
  visible: readonly FleetHost[];
  chosen: ReadonlySet<string>;
  onChoose: (ids: readonly string[]) => void;
}

/** Actions for the selected hosts. A diagnosis of several hosts examines the worst host with the others as peers. */
export function SelectionBar({ hosts, visible, chosen, onChoose }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const reachable = hosts
    .filter((host) => chosen.has(host.id) && host.state === "active")
    .sort((x, y) => SEVERITIES.indexOf(y.worst ?? "none") - SEVERITIES.indexOf(x.worst ?? "none"));
  const ids = reachable.map((host) => host.id);
  const critical = visible.filter((host) => host.worst === "critical").map((host) => host.id);
  return (
    <>
      {chosen.size > 0 ? (
        <Button variant="subtle" onClick={() => onChoose([])}>
          {t("fleet.chooseNone", { count: chosen.size })}
        </Button>
      ) : (
        critical.length > 0 && (
          <Button variant="subtle" onClick={() => onChoose(critical)}>
            {t("fleet.chooseCritical", { count: critical.length })}
          </Button>
        )
      )}
      {can("capture.light") && (
        <>
          <Button
            variant="default"
            leftSection={<GitCompareArrows size={14} />}
            disabled={ids.length < 2 || ids.length > MAX_PEERS + 1}
            title={t("fleet.peersText")}
            onClick={() => openDialog("diagnose", ids)}
          >
            {t("fleet.peers")}
          </Button>
          <Button
            variant="default"
            leftSection={<Stethoscope size={14} />}
            disabled={ids.length !== 1}
            onClick={() => openDialog("diagnose", ids)}
          >
            {t("diagnose.button")}
          </Button>
          <Button
            leftSection={<Camera size={14} />}
            disabled={ids.length === 0}
            variant={ids.length === 0 ? "default" : "filled"}
            onClick={() => openDialog("capture", ids)}
          >
            {ids.length === 0 ? t("hosts.captureNone") : t("fleet.captureThese", { count: ids.length })}
          </Button>
        </>
      )}
    </>
  );
}
