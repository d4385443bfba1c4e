import { useTranslation } from "react-i18next";
import type { ContextTwin, Difference, HostContext } from "../../client/types";
import { Link } from "../../components/Link";
import { Mark, Tag } from "../../components/Mark";
import { NO_VALUE, number, percent, quantity } from "../../core/format";
import { useSentence } from "../../lib/i18n";
import { useMetrics } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import classes from "./Whereabouts.module.css";

const MOST = 12;

/** Is an identical instance healthy, and in what is this one unlike it? */
export function Twins({ twins }: { twins: HostContext["twins"] }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  return (
    <section className={classes.twins} aria-label={t("context.twins")}>
      <h3 className={classes.title}>
        {t("context.twins")}
        {Object.entries(twins.labels).map(([name, value]) => (
          <Tag key={name}>
            {name}={value}
          </Tag>
        ))}
      </h3>
      {twins.twins.length > 0 && (
        <ul className={classes.hosts}>
          {twins.twins.map((one) => (
            <Twin key={one.host.id} twin={one} />
          ))}
        </ul>
      )}
      {twins.why && <p className={classes.nothing}>{sentence(twins.why)}</p>}
      {twins.compared.length > 0 && <Unlike twins={twins} />}
    </section>
  );
}

function Twin({ twin }: { twin: ContextTwin }) {
  const { t } = useTranslation();
  const names = useNames();
  const tone = twin.healthy === null ? "idle" : twin.healthy ? "ok" : "bad";
  const state =
    twin.run_id === null ? "noRun" : twin.healthy === null ? "unasked" : twin.healthy ? "well" : "sick";
  return (
    <li>
      <Mark tone={twin.run_id === null ? "off" : tone}>
        {twin.run_id ? (
          <Link to="/runs/$runId" params={{ runId: twin.run_id }}>
            {twin.host.name}
          </Link>
        ) : (
          twin.host.name
        )}
      </Mark>{" "}
      <span className="dim">
        {t(`context.twin.${state}`)}
        {twin.causes.length > 0 && ` ${twin.causes.map(names.cause).join(", ")}`}
      </span>
    </li>
  );
}

function Unlike({ twins }: { twins: HostContext["twins"] }) {
  const { t } = useTranslation();
  const names = useNames();
  const metrics = useMetrics().data;
  const metricOf = (one: Difference): string => one.name.split("{")[0] ?? one.name;
  const shown = (one: Difference, value: Difference["here"] | undefined): string => {
    if (value === null || value === undefined) return NO_VALUE;
    if (typeof value !== "number") return String(value);
    if (one.kind === "stack") return quantity(value, "pct");
    const unit = metrics?.find((each) => each.id === metricOf(one))?.unit;
    return one.kind === "metric" && unit ? quantity(value, unit) : number(value);
  };
  if (twins.differences.length === 0)
    return <p className={classes.nothing}>{t("context.alike", { names: twins.compared.join(", ") })}</p>;
  return (
    <>
      <p className={classes.nothing}>{t("context.unlike", { names: twins.compared.join(", ") })}</p>
      <dl className={classes.items}>
        {twins.differences.slice(0, MOST).map((one) => (
          <div key={`${one.kind}${one.name}`} className={classes.item}>
            <dt className={one.kind === "metric" ? undefined : "mono"} title={one.name}>
              {one.kind === "metric" ? names.metric(metricOf(one)) : one.name}
            </dt>
            <dd>
              <strong className="num">{shown(one, one.here)}</strong>{" "}
              <span className="dim">
                {Object.entries(one.there)
                  .slice(0, 3)
                  .map(([name, value]) => `${name} ${shown(one, value)}`)
                  .join(" · ")}
              </span>
              <span className={classes.looked}>
                {" "}
                {t("context.surprise", { share: percent(one.surprise) })}
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
