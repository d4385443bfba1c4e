import { Anchor } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Bilingual, Playbook } from "../../client/types";
import { Panel } from "../../components/Page";
import { Prose } from "../../components/Prose";
import { Loaded } from "../../components/States";
import { cx } from "../../core/cx";
import { usePick } from "../../lib/i18n";
import { useChain } from "../../lib/queries";
import { useUrlState } from "../../lib/urlState";
import { Cards } from "./Cards";
import { FIELDS } from "./fields";
import { Hypotheses } from "./Hypotheses";
import classes from "./Playbooks.module.css";
import { Steps } from "./Steps";
import { LeadsTo, NextStep, RunPicker } from "./TryOn";

interface Props {
  playbook: Playbook;
  /** One that is not kept here cannot be tried. */
  preview?: boolean;
}

/** One playbook: what it is for, what could be behind it, the way through, and what helps. */
export function PlaybookDetail({ playbook, preview = false }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const [{ run }] = useUrlState(FIELDS);
  const triable = !preview && playbook.steps.length > 0;
  const chain = useChain(playbook.id, triable ? run : "");
  const found = triable && run !== "" ? chain.data : undefined;
  return (
    <>
      <Panel title={pick(playbook.title)} aside={<span className="mono">{playbook.id}</span>}>
        <p className={classes.symptom}>
          <Prose text={playbook.symptom} />
        </p>
        <div className={classes.bounds}>
          <Bound title={t("playbooks.covered")} items={playbook.covered} />
          <Bound title={t("playbooks.notCovered")} items={playbook.not_covered} not />
        </div>
      </Panel>
      {triable && (
        <Panel title={t("playbooks.try")} aside={t("playbooks.tryAside")}>
          <RunPicker />
          {run !== "" && (
            <Loaded query={chain}>{(walked) => <NextStep playbook={playbook} chain={walked} />}</Loaded>
          )}
        </Panel>
      )}
      {playbook.hypotheses.length > 0 && (
        <Panel flush title={t("playbooks.hypotheses")} aside={t("playbooks.hypothesesAside")}>
          <Hypotheses playbook={playbook} stands={found?.stands} />
        </Panel>
      )}
      {playbook.steps.length > 0 && (
        <Panel
          title={t("playbooks.chain")}
          aside={
            found && found.gaps.length > 0 ? (
              <span className={classes.gapCount}>{t("playbooks.gaps", { count: found.gaps.length })}</span>
            ) : (
              t("playbooks.steps", { count: playbook.steps.length })
            )
          }
        >
          <Steps playbook={playbook} chain={found} />
          {found?.leads_to && <LeadsTo id={found.leads_to} />}
        </Panel>
      )}
      {playbook.dead_ends.length > 0 && (
        <Panel title={t("playbooks.deadEnds")} aside={t("playbooks.deadEndsAside")}>
          <Lines items={playbook.dead_ends} not />
        </Panel>
      )}
      {playbook.cards.length > 0 && (
        <Panel
          flush
          title={t(playbook.kind === "reference" ? "playbooks.cardsTitle" : "playbooks.fixes")}
          aside={t("playbooks.cards", { count: playbook.cards.length })}
        >
          <Cards cards={playbook.cards} />
        </Panel>
      )}
      {playbook.verify && (
        <Panel title={t("playbooks.verify")}>
          <p className={classes.line}>
            <Prose text={playbook.verify} />
          </p>
        </Panel>
      )}
      {playbook.references.length > 0 && (
        <Panel title={t("playbooks.references")}>
          <ul className={classes.lines}>
            {playbook.references.map((one) => (
              <li key={`${one.title}${one.url}`}>
                {/^https?:\/\//.test(one.url) ? (
                  <Anchor href={one.url} target="_blank" rel="noreferrer">
                    {one.title}
                  </Anchor>
                ) : (
                  <>
                    {one.title} <span className="mono dim">{one.url}</span>
                  </>
                )}
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

function Bound({ title, items, not = false }: { title: string; items: readonly Bilingual[]; not?: boolean }) {
  return (
    <div className={cx(classes.bound, not && classes.boundNot)}>
      <h3 className={classes.small}>{title}</h3>
      <Lines items={items} not={not} />
    </div>
  );
}

function Lines({ items, not }: { items: readonly Bilingual[]; not: boolean }) {
  return (
    <ul className={cx(classes.lines, not && classes.linesNot)}>
      {items.map((one) => (
        <li key={one.en}>
          <Prose text={one} />
        </li>
      ))}
    </ul>
  );
}
