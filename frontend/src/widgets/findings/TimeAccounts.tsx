import { Link } from "../../components/Link";
import { StatusIcon, Tag } from "../../components/StatusIcon";
import { formatMilliseconds, formatNumber } from "../../core/text/format";
import { useNames } from "../../lib/text/useNames";
import { type PlainTextKey, useTranslation } from "../../lib/text/useTranslation";
import type { BoundedShare, Ranking, TimeAccount, TimeShare } from "./api";
import { CitationLink, CitedSource } from "./CitationLink";
import classes from "./TimeAccounts.module.css";
import { activityGroup, type ChainLink, findHarmedService, listChain } from "./timeChain";

const THIN = "\u2009";
const percent = (value: number): string => `${value > 0 && value < 0.5 ? "< 1" : value.toFixed(0)}${THIN}%`;

/** Return the bounds of a share as text, or "" if it is exact. */
export function formatShareBounds({ low_pct, high_pct }: BoundedShare): string {
  const [low, high] = [low_pct.toFixed(0), high_pct.toFixed(0)];
  return low === high ? "" : `${low}–${high}${THIN}%`;
}

/** Return a share with its bounds, such as `62 % (55–70 %)`. */
export const formatShare = (share: BoundedShare): string =>
  [percent(share.pct), formatShareBounds(share) && `(${formatShareBounds(share)})`].filter(Boolean).join(" ");

/** Render the time accounts of harmed services, followed by the services on this host that they wait for. */
export function TimeAccounts({ accounts }: { accounts: readonly TimeAccount[] }) {
  return (
    <div className={classes.chain}>
      {listChain(accounts).map((link, i) => (
        <Account key={i} link={link} />
      ))}
    </div>
  );
}

/** Render the share of the time of the most harmed service that no likely cause explains. */
export function UnexplainedTime({ ranking }: { ranking: Ranking }) {
  const { t } = useTranslation();
  const { unexplained_pct, time_accounts } = ranking;
  if (unexplained_pct === undefined || unexplained_pct === null) return null;
  const share = percent(unexplained_pct);
  const service = findHarmedService(time_accounts ?? []);
  const text = service
    ? t("findings.time.unexplained", { share, service })
    : t("findings.time.unexplainedAny", { share });
  return (
    <p className={classes.unexplained}>
      <span className={classes.swatch} data-group="unknown" aria-hidden />
      {text}
    </p>
  );
}

function useActivityName() {
  const { t } = useTranslation();
  return (activity: string): string =>
    t(`findings.activity.${activity}` as PlainTextKey, { defaultValue: activity });
}

function Account({ link: { account, depth, caller } }: { link: ChainLink }) {
  const { t } = useTranslation();
  const names = useNames();
  const { service, shares, idle } = account;
  const busy = shares.filter((item) => item.share !== null);
  return (
    <article className={classes.account} style={{ marginLeft: Math.min(depth, 4) * 20 }}>
      {caller && <p className={classes.caller}>↳ {t("findings.time.waitsFor", { caller, service })}</p>}
      <header className={classes.head}>
        <h4 className={classes.service}>{service}</h4>
        {account.is_harmed && <StatusIcon tone="bad">{t("findings.time.harmed")}</StatusIcon>}
        {names.subject(account.subject, service).map((part) => (
          <Tag key={part} title={part}>
            {part}
          </Tag>
        ))}
        <span className={classes.figures}>
          <span>{t("findings.time.processes", { count: account.process_count })}</span>
          {account.waiting > 0 && (
            <span>{t("findings.time.waiting", { requests: formatNumber(account.waiting) })}</span>
          )}
          {account.queued > 0 && (
            <span>{t("findings.time.queued", { requests: formatNumber(account.queued) })}</span>
          )}
          {account.oldest_ms > 0 && (
            <span>{t("findings.time.oldest", { time: formatMilliseconds(account.oldest_ms) })}</span>
          )}
          <span>{t("findings.time.busy", { share: percent(account.busy_pct) })}</span>
          <span title={t("findings.sampleCount", { n: formatNumber(account.sample_count) })}>
            n = {formatNumber(account.sample_count)}
          </span>
        </span>
      </header>
      {busy.length > 0 ? (
        <>
          <Bar shares={busy} />
          <ul className={classes.shares} aria-label={t("findings.time.of", { service })}>
            {busy.map((item, i) => (
              <ShareRow key={i} item={item} pid={account.subject.pid} />
            ))}
          </ul>
        </>
      ) : (
        <p className={classes.idle}>{t("findings.time.allIdle")}</p>
      )}
      {idle.length > 0 && <IdleTime items={idle} />}
      {(account.ran_instead ?? []).length > 0 && (
        <p className={classes.idle}>
          {t("findings.time.ranInstead", {
            processes: (account.ran_instead ?? [])
              .map(({ name, pid, pct }) => `${name} (${pid}) ${percent(pct)}`)
              .join(", "),
          })}
        </p>
      )}
    </article>
  );
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

function IdleTime({ items }: { items: readonly TimeShare[] }) {
  const { t } = useTranslation();
  const nameActivity = useActivityName();
  const wall = items.reduce((sum, item) => sum + item.wall_pct, 0);
  const activities = [...new Set(items.map((item) => lowerFirst(nameActivity(item.activity))))].join(", ");
  return <p className={classes.idle}>{t("findings.time.idle", { share: percent(wall), activities })}</p>;
}

/** Render shares as a bar of 100 %. It is hidden from screen readers: the list below it has the same shares as text. */
function Bar({ shares }: { shares: readonly TimeShare[] }) {
  const nameActivity = useActivityName();
  return (
    <div className={classes.bar} aria-hidden>
      {shares.map((item, i) => (
        <span
          key={i}
          className={classes.part}
          data-group={activityGroup(item.activity)}
          style={{ width: `${item.share?.pct ?? 0}%` }}
          title={[nameActivity(item.activity), item.target, item.share && formatShare(item.share)]
            .filter(Boolean)
            .join(" · ")}
        />
      ))}
    </div>
  );
}

function ShareRow({ item, pid }: { item: TimeShare; pid: string | undefined }) {
  const { t } = useTranslation();
  const nameActivity = useActivityName();
  const { activity, target, operation, share, callee } = item;
  if (!share) return null;
  const place = (item.citations ?? []).find((citation) => citation.artifact || citation.profile);
  const name = nameActivity(activity);
  return (
    <li className={classes.share}>
      <span className={classes.swatch} data-group={activityGroup(activity)} aria-hidden />
      <span className={classes.activity}>
        {name} {target && <span className={classes.target}>{target}</span>}
        {callee && <span className={classes.callee}>→ {callee.service}</span>}
        {operation && <span className={classes.operation}>{operation}</span>}
      </span>
      <CitedSource place={place} pid={pid} label={name} className={classes.number}>
        {percent(share.pct)}
      </CitedSource>
      <span className={classes.bounds} title={t("findings.interval")}>
        {formatShareBounds(share) || t("findings.time.exact")}
      </span>
      <span className={classes.longest}>
        {item.longest_ms > 0 && t("findings.time.longest", { time: formatMilliseconds(item.longest_ms) })}
      </span>
      <CitationLink place={place} pid={pid} label={name} />
    </li>
  );
}

/** Render the share of the time of a harmed service that a cause explains, and the causes that follow from it. */
export function CauseEffect({
  cause,
  accounts,
}: {
  cause: Ranking["causes"][number];
  accounts: readonly TimeAccount[];
}) {
  const { t } = useTranslation();
  const names = useNames();
  const service = findHarmedService(accounts);
  const share = cause.share ? formatShare(cause.share) : "";
  return (
    <>
      {share && (
        <p className={classes.explained}>
          {service
            ? t("findings.time.explained", { share, service })
            : t("findings.time.explainedAny", { share })}
        </p>
      )}
      {cause.explains.length > 0 && (
        <p className={classes.consequences}>
          <span className="dim">{t("findings.explains")}</span>
          {cause.explains.map((id) => (
            <span key={id}>
              →{" "}
              <Link to="/rules" search={{ view: "causes", cause: id }}>
                {names.cause(id)}
              </Link>
            </span>
          ))}
        </p>
      )}
    </>
  );
}
