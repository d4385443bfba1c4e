import { Button } from "@mantine/core";
import { Square } from "lucide-react";
import type { ReactNode } from "react";

interface Props {
  /** Whether the request was sent and is not answered yet. */
  loading: boolean;
  onClick(): void;
  children: ReactNode;
}

/** Ends what runs on hosts. */
export function CancelButton({ loading, onClick, children }: Props) {
  return (
    <Button
      color="red"
      variant="outline"
      leftSection={<Square size={12} />}
      loading={loading}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}
