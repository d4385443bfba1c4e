import { Menu } from "@mantine/core";
import type { FlameNode } from "../../../core/profiles/flame";
import { FRAME_ACTIONS, type FrameAction, frameActionKey } from "../../../core/profiles/frameKeys";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Point } from "../../../widgets/flame-graph/drawing";
import classes from "./Panel.module.css";

interface Props {
  node: FlameNode;
  at: Point;
  /** Whether samples of the profile have addresses of instructions. */
  hasCode: boolean;
  onAct(act: FrameAction): void;
  onClose(): void;
}

/** Context menu of a frame. */
export function FrameMenu({ node, at, hasCode, onAct, onClose }: Props) {
  const { t } = useTranslation();
  const acts = FRAME_ACTIONS.filter(
    (act) => (act !== "module" || node.module) && (act !== "code" || hasCode),
  );
  return (
    <Menu
      opened
      withInitialFocusPlaceholder={false}
      onClose={onClose}
      position="bottom-start"
      offset={2}
      shadow="md"
      width={300}
      trapFocus
      returnFocus
    >
      <Menu.Target>
        <button
          type="button"
          tabIndex={-1}
          className={classes.anchor}
          style={{ left: at.x, top: at.y }}
          aria-label={node.name}
        />
      </Menu.Target>
      <Menu.Dropdown>
        <div role="presentation" className={classes.menuName} title={node.name}>
          {node.name}
        </div>
        {acts.map((act) => (
          <Menu.Item
            key={act}
            onClick={() => onAct(act)}
            rightSection={
              frameActionKey(act) ? <kbd className={classes.key}>{frameActionKey(act)}</kbd> : undefined
            }
          >
            {t(`profile.act.${act}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
