"""Is a near hit right? Answers are compared with each other, and hits counted by what that says."""
