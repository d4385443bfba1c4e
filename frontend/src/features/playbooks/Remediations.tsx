import { useTranslation } from "react-i18next";
import type { Bilingual, PlaybookCard } from "../../client/types";
import { CommandLine } from "../../components/Copy";
import { Link } from "../../components/Link";
import { Prose } from "../../components/Prose";
import { usePick } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { useNumberName } from "../../lib/useNumberName";
import classes from "./Playbooks.module.css";

/** Things to do or to know: when, how, at what risk, and the number that shows whether it helped. */
export function Cards({ cards }: { cards: readonly PlaybookCard[] }) {
  const { t } = useTranslation();
  const pick = usePick();
  const numberName = useNumberName();
  return (
    <div>
      {cards.map((card) => (
        <article key={card.id} className={classes.card} id={`card-${card.id}`}>
          <h3 className={classes.cardTitle}>{pick(card.title)}</h3>
          <p className={classes.line}>
            <Prose text={card.when} />
          </p>
          {card.command && <CommandLine text={card.command} />}
          <dl className={classes.terms}>
            <Term name={t("playbooks.risk")} text={card.risk} />
            <Term name={t("playbooks.wayBack")} text={card.back} />
            {card.verifies && (
              <div>
                <dt>{t("playbooks.verifies")}</dt>
                <dd title={card.verifies}>{numberName(card.verifies)}</dd>
              </div>
            )}
            <Term name={t("playbooks.correction")} text={card.correction} />
          </dl>
          <Linked title={t("playbooks.rules")} ids={card.findings} kind="rule" />
          <Linked title={t("playbooks.causes")} ids={card.causes} kind="cause" />
        </article>
      ))}
    </div>
  );
}

function Term({ name, text }: { name: string; text: Bilingual | null }) {
  if (!text) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Prose text={text} />
      </dd>
    </div>
  );
}

function Linked({ title, ids, kind }: { title: string; ids: readonly string[]; kind: "rule" | "cause" }) {
  const names = useNames();
  if (ids.length === 0) return null;
  return (
    <p className={classes.meta}>
      <span>{title}</span>
      {ids.map((id) => (
        <Link
          key={id}
          to="/rules"
          search={(kind === "rule" ? { rule: id } : { view: "causes", cause: id }) as never}
          title={id}
        >
          {names[kind](id)}
        </Link>
      ))}
    </p>
  );
}
