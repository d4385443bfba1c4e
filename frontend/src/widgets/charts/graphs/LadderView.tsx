import { DataTable } from "../../../components/tables/DataTable";
import { formatQuantity } from "../../../core/text/format";
import { useLocalized, useMessage } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { LadderBody, LadderLayer, LadderLoss } from "../api";
import { ChartValue } from "../ChartValue";
import classes from "./Ladder.module.css";

const RAIL = 36;
const MIDDLE = 14;

/** Render the layers that a received packet passes: drops in each layer, and layers without data. */
export function LadderView({ body, label }: { body: LadderBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const formatMessage = useMessage();
  const names = useNames();
  return (
    <ol className={classes.ladder} aria-label={label}>
      {body.layers.map((layer, i) => (
        <li key={layer.id} className={classes.layer} data-state={layer.state}>
          <LayerConnector state={layer.state} first={i === 0} last={i === body.layers.length - 1} />
          <div className={classes.head}>
            <span className={classes.name}>{localize(layer.label)}</span>
            <span className={classes.state}>{t(`visuals.layer.${layer.state}`)}</span>
            {layer.passing && (
              <span className={classes.passing}>
                <ChartValue figure={layer.passing} label={t("visuals.passing")} />
              </span>
            )}
          </div>
          <div className={classes.losses}>
            {layer.reason && (
              <span className={classes.reason}>{formatMessage(names.reason(layer.reason))}</span>
            )}
            {lossesOf(layer).map((loss) => (
              <Loss key={loss.id} loss={loss} />
            ))}
            {layer.state === "good" && layer.losses.length > 0 && (
              <span className={classes.none}>
                {t("visuals.lostNothing")}{" "}
                {layer.losses.map((loss, n) => (
                  <span key={loss.id}>
                    {n > 0 && ", "}
                    <ChartValue figure={loss.rate} label={localize(loss.label)}>
                      {localize(loss.label)} {formatQuantity(loss.rate.value, loss.rate.unit)}
                    </ChartValue>
                  </span>
                ))}
              </span>
            )}
            {layer.left_out > 0 && (
              <span className={classes.none}>
                {t("visuals.leftOut", { count: layer.left_out, visible: layer.left_out })}
              </span>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

/** Return the losses of a layer that are not zero. */
const lossesOf = (layer: LadderLayer): LadderLoss[] => layer.losses.filter((loss) => loss.tone !== "good");

function Loss({ loss }: { loss: LadderLoss }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const name = localize(loss.label);
  return (
    <span className={classes.loss} data-tone={loss.tone}>
      <span className={classes.figure}>
        <ChartValue figure={loss.rate} label={name} />
      </span>
      <span className={classes.counterName}>
        {name}
        {loss.about && (
          <span className={classes.about} title={loss.about}>
            {loss.about}
          </span>
        )}
      </span>
      {loss.total && (
        <span className={classes.total}>
          <ChartValue figure={loss.total} label={name}>
            {t("visuals.inAll", { n: formatQuantity(loss.total.value, loss.total.unit) })}
          </ChartValue>
        </span>
      )}
    </span>
  );
}

interface LayerConnectorProps {
  state: LadderLayer["state"];
  first: boolean;
  last: boolean;
}

/** Render the line that connects the layers, with a sign for the state of a layer. */
function LayerConnector({ state, first, last }: LayerConnectorProps) {
  return (
    <svg className={classes.connector} data-state={state} width={RAIL} height="100%" aria-hidden>
      <line className={classes.rail} x1={MIDDLE} x2={MIDDLE} y1={first ? 14 : 0} y2={last ? 14 : "100%"} />
      {state === "bad" && <path className={classes.leak} d={`M${MIDDLE} 14H${RAIL - 3}l-5 -4m5 4l-5 4`} />}
      <circle className={classes.stateSign} cx={MIDDLE} cy="14" r="8" />
      {state === "good" && <path className={classes.glyph} d="M10 14l3 3 5-6" />}
      {state === "bad" && <path className={classes.glyph} d="M11 11l6 6M17 11l-6 6" />}
      {state === "warn" && <path className={classes.glyph} d="M14 9.5v5.5M14 17.4v1" />}
    </svg>
  );
}

/** Render the layers as a table: each counter with its rate and total. */
export function LadderTable({ body, label }: { body: LadderBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const formatMessage = useMessage();
  const names = useNames();
  return (
    <DataTable label={label} stack>
      <thead>
        <tr>
          <th>{t("visuals.layerName")}</th>
          <th>{t("visuals.what")}</th>
          <th className="right">{t("visuals.rate")}</th>
          <th className="right">{t("visuals.total")}</th>
        </tr>
      </thead>
      <tbody>
        {body.layers.flatMap((layer) =>
          layer.losses.length === 0 ? (
            <tr key={layer.id}>
              <td>{localize(layer.label)}</td>
              <td>{formatMessage(names.reason(layer.reason))}</td>
              <td className="right">–</td>
              <td className="right">–</td>
            </tr>
          ) : (
            layer.losses.map((loss) => (
              <tr key={loss.id}>
                <td>{localize(layer.label)}</td>
                <td>
                  {localize(loss.label)} <span className="dim">{loss.about}</span>
                </td>
                <td className="right num">
                  <ChartValue figure={loss.rate} label={localize(loss.label)} />
                </td>
                <td className="right num">
                  <ChartValue figure={loss.total} label={localize(loss.label)} />
                </td>
              </tr>
            ))
          ),
        )}
      </tbody>
    </DataTable>
  );
}
