import { Button, Drawer } from "@mantine/core";
import { Camera, Stethoscope } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { FleetHost, FleetWord, RunFindings } from "../../client/types";
import { Ago } from "../../components/Ago";
import { Link } from "../../components/Link";
import { BlockSkeleton, Empty, Loaded } from "../../components/States";
import type { Look } from "../../components/Verdict";
import { bySeverity } from "../../core/figures";
import { useOpenDialog } from "../../lib/dialogs";
import { useMay, useRunFindings } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { FindingRow } from "../../renderers/findings/FindingRow";
import classes from "./Fleet.module.css";

interface Props {
  /** Undefined while nothing is open. The drawer itself stays, so that the keys go back to where they were. */
  host: FleetHost | undefined;
  title: string;
  /** Which rules the cell is about. */
  about: ReadonlySet<string>;
  /** What the cell shows; its look is the run that is read. */
  word: FleetWord | undefined;
  onClose: () => void;
}

/** What stands behind a cell: everything that its rules said in the run, with numbers down to their lines. */
export function FindingDrawer({ host, title, about, word, onClose }: Props) {
  const { t } = useTranslation();
  return (
    <Drawer
      opened={host !== undefined}
      onClose={onClose}
      position="right"
      size="min(60rem, 100vw)"
      title={
        <span className={classes.drawerTitle}>
          {host?.name} · {title}
        </span>
      }
      closeButtonProps={{ "aria-label": t("action.close") }}
    >
      {host && <Behind host={host} about={about} word={word} />}
    </Drawer>
  );
}

function Behind({ host, about, word }: Pick<Props, "about" | "word"> & { host: FleetHost }) {
  const { t } = useTranslation();
  const names = useNames();
  const may = useMay();
  const openDialog = useOpenDialog();
  const look = host.looks[word?.look ?? 0];
  return (
    <>
      <div className={classes.drawerHead}>
        {look && (
          <span>
            <Link to="/runs/$runId" params={{ runId: look.run_id }} hash="findings">
              {t("findings.ofRun", { plan: names.plan(look.plan) })}
            </Link>{" "}
            <Ago at={look.at} />
          </span>
        )}
        <Link to="/hosts/$hostId" params={{ hostId: host.id }}>
          {t("fleet.toHost")}
        </Link>
        {may("capture.light") && host.state === "active" && (
          <>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<Camera size={13} />}
              onClick={() => openDialog("capture", [host.id])}
            >
              {t("fleet.captureThis")}
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<Stethoscope size={13} />}
              onClick={() => openDialog("diagnose", [host.id])}
            >
              {t("diagnose.button")}
            </Button>
          </>
        )}
      </div>
      {look && word ? (
        <Said runId={look.run_id} about={about} />
      ) : (
        <Empty title={t("fleet.look.absent")}>{t("fleet.absentText", { count: about.size })}</Empty>
      )}
    </>
  );
}

function Said({ runId, about }: { runId: string; about: ReadonlySet<string> }) {
  const { t } = useTranslation();
  return (
    <Loaded query={useRunFindings(runId, false)} skeleton={<BlockSkeleton height={240} />}>
      {(found) => {
        const rows = spoken(found, about);
        return rows.length > 0 ? (
          <div>
            {rows.map(([look, finding], i) => (
              <FindingRow key={`${finding.rule}${i}`} finding={finding} look={look} />
            ))}
          </div>
        ) : (
          <Empty title={t("fleet.notInRun")} />
        );
      }}
    </Loaded>
  );
}

/** What the rules of a cell said in a run: what fired first, then what is not sure, quiet, and why others did not speak. */
function spoken(found: RunFindings, about: ReadonlySet<string>): [Look, RunFindings["findings"][number]][] {
  const mine = (all: RunFindings["findings"]) => bySeverity(all.filter((one) => about.has(one.rule)));
  const fired = mine(found.findings.filter((one) => one.state === "fired"));
  return [
    ...fired.map((one): [Look, typeof one] => [one.grade === "context" ? "context" : "supports", one]),
    ...mine(found.ranking.inconclusive).map((one): [Look, typeof one] => ["inconclusive", one]),
    ...mine(found.quiet).map((one): [Look, typeof one] => ["refutes", one]),
    ...mine(found.not_evaluated).map((one): [Look, typeof one] => ["absent", one]),
  ];
}
