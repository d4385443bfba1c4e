import type { HostContext, PeerDifference } from "../../client/models";
import { Link } from "../../components/Link";
import { StatusIcon, Tag } from "../../components/StatusIcon";
import { formatNumber, formatPercent, formatQuantity, NO_VALUE } from "../../core/text/format";
import { useMetrics } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { ContextPeer } from "./api";
import classes from "./HostContext.module.css";

const MAX_PEERS = 12;

/** Render the peers of the host with their health, and the differences from healthy peers. */
export function PeerComparison({ comparison }: { comparison: HostContext["peer_comparison"] }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  return (
    <section className={classes.peers} aria-label={t("context.peers")}>
      <h3 className={classes.title}>
        {t("context.peers")}
        {Object.entries(comparison.labels).map(([name, value]) => (
          <Tag key={name}>
            {name}={value}
          </Tag>
        ))}
      </h3>
      {comparison.peers.length > 0 && (
        <ul className={classes.hosts}>
          {comparison.peers.map((peer) => (
            <PeerItem key={peer.host.id} peer={peer} />
          ))}
        </ul>
      )}
      {comparison.reason && <p className={classes.explanation}>{formatMessage(comparison.reason)}</p>}
      {comparison.compared.length > 0 && <PeerDifferences comparison={comparison} />}
    </section>
  );
}

function PeerItem({ peer }: { peer: ContextPeer }) {
  const { t } = useTranslation();
  const names = useNames();
  const tone = peer.healthy === null ? "idle" : peer.healthy ? "ok" : "bad";
  const state =
    peer.run_id === null
      ? "notCaptured"
      : peer.healthy === null
        ? "notEvaluated"
        : peer.healthy
          ? "healthy"
          : "unhealthy";
  return (
    <li>
      <StatusIcon tone={peer.run_id === null ? "off" : tone}>
        {peer.run_id ? (
          <Link to="/runs/$runId" params={{ runId: peer.run_id }}>
            {peer.host.name}
          </Link>
        ) : (
          peer.host.name
        )}
      </StatusIcon>{" "}
      <span className="dim">
        {t(`context.peer.${state}`)}
        {peer.causes.length > 0 && ` ${peer.causes.map(names.cause).join(", ")}`}
      </span>
    </li>
  );
}

function PeerDifferences({ comparison }: { comparison: HostContext["peer_comparison"] }) {
  const { t } = useTranslation();
  const names = useNames();
  const metrics = useMetrics().data;
  const metricOf = (difference: PeerDifference): string => difference.name.split("{")[0] ?? difference.name;
  const formatDifference = (
    difference: PeerDifference,
    value: PeerDifference["local"] | undefined,
  ): string => {
    if (value === null || value === undefined) return NO_VALUE;
    if (typeof value !== "number") return String(value);
    if (difference.kind === "stack") return formatQuantity(value, "pct");
    const unit = metrics?.find((each) => each.id === metricOf(difference))?.unit;
    return difference.kind === "metric" && unit ? formatQuantity(value, unit) : formatNumber(value);
  };
  if (comparison.differences.length === 0)
    return (
      <p className={classes.explanation}>
        {t("context.noDifferences", { names: comparison.compared.join(", ") })}
      </p>
    );
  return (
    <>
      <p className={classes.explanation}>
        {t("context.differences", { names: comparison.compared.join(", ") })}
      </p>
      <dl className={classes.items}>
        {comparison.differences.slice(0, MAX_PEERS).map((difference) => (
          <div key={`${difference.kind}${difference.name}`} className={classes.item}>
            <dt className={difference.kind === "metric" ? undefined : "mono"} title={difference.name}>
              {difference.kind === "metric" ? names.metric(metricOf(difference)) : difference.name}
            </dt>
            <dd>
              <strong className="num">{formatDifference(difference, difference.local)}</strong>{" "}
              <span className="dim">
                {Object.entries(difference.peers)
                  .slice(0, 3)
                  .map(([name, value]) => `${name} ${formatDifference(difference, value)}`)
                  .join(" · ")}
              </span>
              <span className={classes.note}>
                {" "}
                {t("context.surpriseScore", { share: formatPercent(difference.surprise_score) })}
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
