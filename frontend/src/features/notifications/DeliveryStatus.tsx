import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { GrafanaAnnotation, Notice } from "../../client/triggers";
import { Ago } from "../../components/Ago";
import { useSentence } from "../../lib/i18n";
import { useMay } from "../../lib/queries";
import classes from "./triggers.module.css";

/** Heads of the cells of a delivery. */
export function DeliveryHead() {
  const { t } = useTranslation();
  return (
    <>
      <th>{t("notices.channel")}</th>
      <th className="right">{t("notices.tries")}</th>
      <th>{t("notices.at")}</th>
      <th>{t("triggers.why")}</th>
    </>
  );
}

interface Props {
  one: Notice | GrafanaAnnotation;
  again: { isPending: boolean; variables: string | undefined; mutate(id: string): void };
}

/** The cells that say how something fared on its way: where to, how often, when, why not; to try it once more. */
export function Delivery({ one, again }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const sentence = useSentence();
  return (
    <>
      <td>{one.channel}</td>
      <td className="num right">{one.tries}</td>
      <td className="num">
        <Ago at={one.sent_at ?? one.created_at} />
      </td>
      <td className={classes.why}>
        {one.failure && sentence(one.failure)}{" "}
        {one.state === "dead" && may("channel.manage") && (
          <Button
            size="compact-xs"
            variant="default"
            loading={again.isPending && again.variables === one.id}
            onClick={() => again.mutate(one.id)}
          >
            {t("action.retry")}
          </Button>
        )}
      </td>
    </>
  );
}
