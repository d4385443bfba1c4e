import { Button } from "@mantine/core";
import { Plus } from "lucide-react";
import { Link } from "../../components/Link";
import { VerdictIcon } from "../../components/VerdictIcon";
import { useOpenDialog } from "../../lib/dialogs";
import { useCauses, useCollectors, usePermission } from "../../lib/queries";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Findings.module.css";

interface OpenHypothesesProps {
  /** Ids of causes. */
  ids: readonly string[];
  /** Collectors that were run. */
  tried: readonly string[];
  hostId: string | undefined;
}

/** Render open hypotheses: those that further collectors decide, with a button each, then the others in a line. */
export function OpenHypotheses({ ids, tried, hostId }: OpenHypothesesProps) {
  const { t } = useTranslation();
  const names = useNames();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const collectors = useCollectors().data;
  const causes = useCauses().data;
  const canCollect = hostId !== undefined && can("capture.light");
  const items = ids.map((id) => ({
    id,
    tests: canCollect
      ? (causes?.get(id)?.tested_by ?? []).filter(
          (test) => !tried.includes(test) && collectors?.some((collector) => collector.id === test),
        )
      : [],
  }));
  const undecidable = items.filter(({ tests }) => tests.length === 0);
  return (
    <>
      {items
        .filter(({ tests }) => tests.length > 0)
        .map(({ id, tests }) => (
          <article key={id} className={`${classes.finding} ${classes.look_absent}`}>
            <header className={classes.findingHead}>
              <VerdictIcon verdict="absent" label={t("findings.open")} />
              <CauseLink id={id} className={classes.ruleName ?? ""} />
              <Button
                size="compact-xs"
                variant="default"
                leftSection={<Plus size={12} />}
                onClick={() => openDialog("capture", [hostId ?? ""], "", tests)}
                className={classes.collect ?? ""}
              >
                {t("findings.collect", { what: tests.map(names.collector).join(", ") })}
              </Button>
            </header>
          </article>
        ))}
      {undecidable.length > 0 && (
        <p className={classes.ruleIds}>
          <span className="dim">{t("findings.nothingLeft")}</span>{" "}
          {undecidable.map(({ id }, i) => (
            <span key={id}>
              {i > 0 && " · "}
              <CauseLink id={id} />
            </span>
          ))}
        </p>
      )}
    </>
  );
}

function CauseLink({ id, className = "" }: { id: string; className?: string }) {
  const names = useNames();
  return (
    <Link to="/rules" search={{ view: "causes", cause: id }} className={className}>
      {names.cause(id)}
    </Link>
  );
}
