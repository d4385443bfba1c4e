import { Button } from "@mantine/core";
import { Plus } from "lucide-react";
import { Link } from "../../components/Link";
import { TierTag } from "../../components/StatusIcon";
import { VerdictIcon } from "../../components/VerdictIcon";
import { formatNumber, formatQuantity, formatSeconds } from "../../core/text/format";
import { useOpenDialog } from "../../lib/dialogs";
import { usePermission } from "../../lib/queries";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Consumer, DeeperCapture } from "./api";
import classes from "./Findings.module.css";
import leads from "./Leads.module.css";

/** Render the processes that use most of each resource. They are leads, not evidence. */
export function Consumers({ items }: { items: readonly Consumer[] }) {
  const { t } = useTranslation();
  return (
    <ul className={leads.consumers}>
      {items.map((item, i) => (
        <li key={i} className={leads.consumer}>
          <span className="dim">{t(`findings.resource.${item.resource}`)}</span>
          <span className={leads.process}>
            {t("findings.subject.named", { name: item.name, value: item.pid })}
          </span>
          <span className={leads.amount}>{formatQuantity(item.amount, item.unit)}</span>
          <span className={leads.ofAll}>{t("findings.ofAll", { share: formatNumber(item.share_pct) })}</span>
        </li>
      ))}
    </ul>
  );
}

interface Props {
  items: readonly DeeperCapture[];
  hostId: string | undefined;
  /** Scope of the diagnosis (`kind=value`), applied to the collectors. */
  scope: string;
}

/** Render collectors that were not run: tier, duration, cost, and the causes that they can confirm or rule out. */
export function DeeperCollectors({ items, hostId, scope }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const can = usePermission();
  const openDialog = useOpenDialog();
  return items.map(({ collector, tier, decides, ...cost }) => (
    <article key={collector} className={`${classes.finding} ${classes.look_absent}`}>
      <header className={classes.findingHead}>
        <VerdictIcon verdict="absent" label={t("findings.verdict.absent")} />
        <span className={classes.ruleName}>{names.collector(collector)}</span>
        <TierTag tier={tier} />
        <span className={leads.cost}>
          {t("findings.cost", { time: formatSeconds(cost.seconds), cpu: formatNumber(cost.cpu_pct) })}
        </span>
        {hostId && can(`capture.${tier}`) && (
          <Button
            size="compact-xs"
            variant="default"
            leftSection={<Plus size={12} />}
            onClick={() => openDialog("capture", [hostId], "", [collector], scope)}
            className={classes.collect ?? ""}
          >
            {t("findings.collect", { what: names.collector(collector) })}
          </Button>
        )}
      </header>
      {decides.length > 0 && (
        <p className={classes.ruleIds}>
          <span className="dim">{t("findings.decides")}</span>{" "}
          {decides.map((id, i) => (
            <span key={id}>
              {i > 0 && " · "}
              <Link to="/rules" search={{ view: "causes", cause: id }}>
                {names.cause(id)}
              </Link>
            </span>
          ))}
        </p>
      )}
    </article>
  ));
}
