import { Button } from "@mantine/core";
import { Camera, GitCompareArrows, Stethoscope } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { FleetHost } from "../../client/types";
import { useOpenDialog } from "../../lib/dialogs";
import { useMay } from "../../lib/queries";
import { SEVERITIES } from "./severities";

/** A diagnosis captures at most this many twins beside the host. */
const MOST_TWINS = 20;

interface Props {
  hosts: readonly FleetHost[];
  shown: readonly FleetHost[];
  chosen: ReadonlySet<string>;
  onChoose: (ids: readonly string[]) => void;
}

/** What can be done with the chosen hosts. Of several the worst is the one that is asked, the others are its twins. */
export function Chosen({ hosts, shown, chosen, onChoose }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const openDialog = useOpenDialog();
  const reachable = hosts
    .filter((one) => chosen.has(one.id) && one.state === "active")
    .sort((x, y) => SEVERITIES.indexOf(y.worst ?? "none") - SEVERITIES.indexOf(x.worst ?? "none"));
  const ids = reachable.map((one) => one.id);
  const critical = shown.filter((one) => one.worst === "critical").map((one) => one.id);
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
      {may("capture.light") && (
        <>
          <Button
            variant="default"
            leftSection={<GitCompareArrows size={14} />}
            disabled={ids.length < 2 || ids.length > MOST_TWINS + 1}
            title={t("fleet.twinsText")}
            onClick={() => openDialog("diagnose", ids)}
          >
            {t("fleet.twins")}
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
