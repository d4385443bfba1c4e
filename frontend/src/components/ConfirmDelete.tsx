import { ActionIcon, Button, Popover } from "@mantine/core";
import { Trash2 } from "lucide-react";
import { useState } from "react";

/** Render a delete icon. It opens a button with the text `label`, which calls `onClick`. */
export function ConfirmDelete({ label, onClick }: { label: string; onClick: () => void }) {
  const [open, setOpen] = useState(false);
  const confirm = () => {
    setOpen(false);
    onClick();
  };
  return (
    <Popover opened={open} onChange={setOpen} position="left" trapFocus returnFocus withArrow>
      <Popover.Target>
        <ActionIcon size="sm" onClick={() => setOpen(!open)} aria-label={label} title={label}>
          <Trash2 size={14} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown p={6}>
        <Button size="compact-sm" color="red" onClick={confirm}>
          {label}
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
}
