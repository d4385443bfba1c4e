import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Notice, NoticeState } from "../../client/triggers";
import type { List } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Mark, type Tone } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { Empty, ErrorLine, Loaded } from "../../components/States";
import { get, post, useAction } from "../../lib/queries";
import { Delivery, DeliveryHead } from "./Delivery";
import { CHANNELS, NOTICES } from "./data";
import classes from "./triggers.module.css";

const TONES: Record<NoticeState, Tone> = { queued: "idle", sent: "ok", dead: "bad" };
const EVERY_MS = 5_000;

/** What was told, to whom, and what never arrived. */
export function NoticesPanel() {
  const { t } = useTranslation();
  const notices = useQuery({
    queryKey: NOTICES,
    queryFn: () => get<List<Notice>>("/notices", { limit: 100 }),
    refetchInterval: EVERY_MS,
  });
  const again = useAction((id: string) => post<Notice>(`/notices/${id}/again`, {}), [NOTICES, CHANNELS]);
  return (
    <Panel flush title={t("triggers.part.notices")}>
      <ErrorLine error={again.error} />
      <Loaded query={notices}>
        {({ items }) =>
          items.length > 0 ? (
            <Grid stack label={t("triggers.part.notices")}>
              <thead>
                <tr>
                  <th>#</th>
                  <th>{t("captures.state")}</th>
                  <th>{t("notices.message")}</th>
                  <DeliveryHead />
                </tr>
              </thead>
              <tbody>
                {items.map((one) => (
                  <tr key={one.id}>
                    <td className="num">{one.number}</td>
                    <td>
                      <Mark tone={TONES[one.state]}>{t(`notices.state.${one.state}`)}</Mark>
                    </td>
                    <td className={classes.why}>
                      <details>
                        <summary>{one.message.headline}</summary>
                        <div className={classes.stack}>
                          {one.message.lines.map((line) => (
                            <span key={line}>{line}</span>
                          ))}
                          <img
                            className={classes.picture}
                            src={`/api/v1/notices/${one.id}/picture`}
                            alt={t("notices.picture")}
                            loading="lazy"
                          />
                        </div>
                      </details>
                    </td>
                    <Delivery one={one} again={again} />
                  </tr>
                ))}
              </tbody>
            </Grid>
          ) : (
            <Empty title={t("notices.empty")}>{t("notices.emptyText")}</Empty>
          )
        }
      </Loaded>
    </Panel>
  );
}
