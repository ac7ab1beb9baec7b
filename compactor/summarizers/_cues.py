"""Tables of cue words in many languages: what marks a rule, a decision, a task, a change. Tables, and how to look into them.

Words are compared as whole words, phrases as they stand, and for scripts without spaces substrings.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from ._words import PUNCTUATION, word_set, words_of


@attrs.frozen
class Cues:
    """Words, phrases and (for scripts without spaces) substrings that mark one kind of statement."""

    words: frozenset[str]
    phrases: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()

    def found(self, lower: str, words: frozenset[str]) -> bool:
        """True when one of the cues stands in *lower*, whose words are *words*."""
        if not words.isdisjoint(self.words):
            return True
        for phrase in self.phrases:
            if phrase in lower:
                return True
        if lower.isascii():
            return False
        return any(script in lower for script in self.scripts)


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split("|")))


def _cues(words: str, phrases: str = "", scripts: str = "") -> Cues:
    """Phrases are separated by ``|``: they hold spaces."""
    return Cues(frozenset(words.split()), _phrases(phrases), _phrases(scripts))


RULES: Final = _cues(
    "never always must mustn't prefer preferred preference prefers shouldn't avoid forbidden mandatory prohibited disallowed untouchable confidential nobody unless "
    "nie niemals immer stets muss müssen darf dürfen bevorzuge bevorzugt verboten ausschließlich keinesfalls grundsätzlich tabu lieber niemand untersagt keinerlei "
    "jamais toujours doit doivent désormais préfère préférer interdit interdite interdiction évite évitez dois devez aucun aucune "
    "nunca siempre jamás debe deben debes prefiero prefiere prohibido prohibida evita evite jamas ningún ninguna prefieren "
    "никогда всегда должен должна должно должны нельзя предпочитаю предпочитай отныне впредь запрещено обязательно запрет запрещаю лучше никто",
    "do not |from now on|make sure|be sure to|at all times|under no circumstances|should not |may not |no longer |i like |i'd rather"
    "|only use |use only |without asking|rather than |off limits|off-limits|hands off|keep out|read-only|not allowed|ask me first|asking me|sign off|signs off|without my |i'd like you to |if possible|easier for me|better for me|my favo|i enjoy |i don't like|leave it alone|needs a human|need a human|as frozen|not permitted|ab jetzt|ab sofort|auf keinen fall|bitte nicht|bitte kein|finger weg|nicht erlaubt|am liebsten|ohne mein|ohne rücksprache|ich mag |nur noch "
    "|à partir de maintenant|ne pas |n'utilise |n'y touche|ne touche|n'est pas permis|sans mon accord|j'aime |d'abord par|a partir de ahora|de ahora en adelante|no uses |no toques |no debes |no se toca|no está permitido|sin mi |me gusta|ni se te ocurra|"
    "|с этого момента|не трогай|не используй|не надо |без моего|не смей|мне нравится|руками не |только с |",
    "绝不|绝对|从不|不要|不得|必须|始终|总是|一律|永远|禁止|务必|切勿|不允许|不可以|不能|从现在起|今后|以后都|偏好|更喜欢|优先|請勿|请勿|必須|不許|永遠|總是|只能|别碰|不准|不许|不许|没有我|喜欢|宁愿|宁可|千万别|只准|严禁|一定要"
    "|決して|絶対|必ず|常に|いつも|いけない|いけません|ないで|今後|これからは|べき|なければ|好み|優先|てはならない|してください。必ず|触らない|禁止|許可しません|許可なく|承認を取|了承なし|がいいです|のほうが|方が好|してほしい|しないこと"
    "|절대|항상|반드시|금지|하지 마|하지마|말아|말 것|앞으로|지금부터|선호|해야 합니다|해야 한다|안 됩니다|안 돼|마세요|건드리지|허용하지|동의 없이|승인을 받|말 것|좋아요|더 낫|부탁해"
    "|ห้าม|ต้อง|เสมอ|दائما|دائم|أبدا|لا تستخدم|يجب|हमेशा|कभी नहीं|कभी भी",
)
# "Don't push" is a rule, "I don't know" is none.
_NO_RULE: Final = re.compile(r"\b(?:i|we|they|you|these|those|tests|why|if) don'?t (?!want|like|ever)")


def is_rule(lower: str, words: frozenset[str]) -> bool:
    """True for a standing constraint or preference."""
    if RULES.found(lower, words) and not ("never mind" in lower or "nevermind" in lower):
        return True
    return ("don't" in words or "dont" in words) and _NO_RULE.search(lower) is None


DECISIONS: Final = _cues(
    "decided decision chose chosen choosing settled agreed picked verdict concluded opted opting entschieden entscheidung beschlossen geeinigt festgelegt décidé décision choisi retenu tranché optons opte decidido "
    "decisión decidimos elegido elegimos optamos opto quedamos решили решил решено решение выбрали выбрал выбрала остановились берём",
    "going with|go with |let's use |we'll use |we will use |i'll use |i will use |opted for|rather than |settled on|it is, |we build on|over to |won against|feels right|wir nehmen|wir setzen auf|es bleibt bei|fiel auf|entschieden|nous allons utiliser|on garde |ce sera |on part sur |plutôt que "
    "|vamos a usar|usaremos|nos quedamos|en lugar de |будем использовать|остаёмся на|остановимся на|так что берём",
    "决定|決定|定了|还是选|拍板|结论|選んだ|選びました|採用|にします|でいきます|결론|쓰기로|采用|採用|选择了|选用|することにし|に決め|결정|선택했|사용하기로",
)
OPEN: Final = _cues(
    "todo fixme remaining pending unfinished outstanding offen ausstehend fehlt pendiente pendientes falta осталось остаётся",
    "still need|still to |still have to|needs to be |left to do|not yet |remind me|to be done|have to |don't forget|do not forget|still missing|still open|open from|has yet to|have yet to|waits for|so far nobody|nobody has |somebody has to|someone has to|archive the|before launch"
    "|noch nicht |noch zu |muss noch|müssen noch|erinnere mich|denk an|denk bitte|vergiss nicht|es fehlt|bisher niemand|reste à |il reste|il faut |à faire|n'oublie|il manque|pas encore|falta |faltan |todavía |aún no|no olvides|hay que |ещё не|еще не|нужно |надо |не забудь|не хватает|до сих пор не",
    "待办|待辦|还需要|还没|尚未|未完成|剩下|やること|残って|残り|まだ|する必要|必要があり|해야 할|남은|아직|할 일|잊지 마|못 했|忘れずに|まだです|抜けて|还没|别忘|没核对|还差|還差",
)
DONE: Final = _cues(
    "done finished completed complete resolved merged shipped closed implemented written sent added removed deployed created published "
    "uploaded cleaned renewed rotated translated archived booked delivered handled sorted erledigt fertig abgeschlossen behoben geschrieben gesendet verschickt hinzugefügt entfernt erneuert geprüft gebucht "
    "terminé terminée fini achevé résolu envoyé écrit ajouté supprimé renouvelé réservé hecho hecha terminado completado completada enviado escrito añadido eliminado renovado reservado listo resuelto готово сделано закончил "
    "закончили завершено выполнено исправлено отправлено отправил написано добавлено удалено обновлено обновил проверено закрыто",
    "",
    "完成了|已完成|完成。|完成しま|搞定|做完|已经完成|写好|发送了|更新了|清理了|办好|完了|終わりました|終わった|済み|書きました|送りました|追加しました|更新しました|整理しました|완료|했습니다|보냈|썼습|끝났|끝냈|마쳤",
)
NOT: Final = _cues(
    "not isn't aren't wasn't never until unless when once if nicht kein noch pas jamais aún todavía не ещё если wenn si to",
    "",
    "没|未|不|还|まだ|ない|ません|안 |못",
)
NEXT: Final = _cues(
    "next nächster nächste als prochaine ensuite siguiente далее дальше",
    "i'll |i will |let me |now i|going to |als nächstes|je vais |voy a |сейчас я",
    "接下来|下一步|接著|次に|次は|これから|다음",
)
CORRECTIONS: Final = _cues(
    "actually instead correction wrong sorry wait stop revert undo nein falsch stattdessen doch halt incorrect plutôt "
    "correción corrección incorrecto неправильно нет вместо",
    "no, |not what|i meant|changed my mind|scratch that|never mind|non, |en realidad|au lieu|en lugar",
    "不对|不是|其实|改成|改为|违|違|やっぱり|ではなく|じゃなくて|아니|대신",
)
REASONS: Final = _cues("because since weil damit parce porque поэтому", "so that|due to|потому", "因为|因為|所以|ため|から|때문")
REQUESTS: Final = _cues(
    "please fix can could would help why how what bitte puedes pouvez пожалуйста",
    "",
    "请|帮|ください|주세요|해줘",
)
FILLERS: Final = word_set(
    "ok okay yes no thanks thank you go on continue proceed great good nice cool sure perfect done next please it hi hello hey "
    "ja nein danke weiter gut oui merci continuez sí si gracias sigue да нет спасибо дальше хорошо "
    "好 好的 继续 繼續 谢谢 謝謝 是 はい ありがとう 続けて 네 예 계속 감사합니다"
)

CHANGES: Final = _cues(
    "now actually correction corrected instead changed changes moved bumped switched renamed updated raised lowered replace replaced "
    "swap swapped forget scratch wrong revised supersedes meanwhile slipped postponed delayed rescheduled switch switched switching upgrade "
    "upgraded downgrade bump raise lower increase increased decrease decreased reduce reduced extend extended shorten shortened rename "
    "move migrate migrated relocated overrule override drop dropped "
    "misread misheard mistyped verlesen vertippt verhört korrektur jetzt stattdessen statt geändert ändere ersetze ersetzt vergiss nunmehr sondern falsch inzwischen neuerdings umgestellt verschoben verlegt umgezogen erhöht erhöhe gesenkt senke verlängert aktualisiert wechsle gewechselt "
    "correction maintenant désormais changé remplace remplacé oublie plutôt dorénavant passe passé finalement déplacé reporté décalé avancé déménagé augmenté réduit migré actualisé modifié "
    "corrección ahora cambió cambiado cambia reemplaza olvida sino finalmente actualizado mejor aplazado movido pasa subió sube bajó baja aumentó traslada trasladó modificado reemplazado "
    "поправка теперь изменился изменилась изменилось изменили вместо замени заменили забудь исправление поменяли отныне перенесли перенесён сдвинули переехал переехала перешли переходим обновили повысили снизили переименовали",
    "no longer|not anymore|any more|as of |from today|change of plan|in fact|i meant|i was wrong|went from |new value|is going to be |after all|make it |make that |on second thought|too low|too high|too small|too big|too short|too long"
    "|read it wrong|got it wrong|nicht mehr|ab sofort|seit heute|planänderung|doch lieber|doch erst|doch am |doch auf |doch in |mal lu |me suis trompé|n'est plus|ne sera plus|au lieu de|changement de plan|à partir d|en fait"
    "|en lugar de|en vez de|en realidad|leí mal|me equivoqué|ya no |cambio de plan|a partir de|больше не|планы поменялись|на самом деле|неверно проч|стало |стал |лучше ",
    "改为|改成|改到|改在|改期|挪到|换成|換成|改用|变为|变成|更正|更新为|现在|現在|不再|不用|其实|其實|计划有变|别管|调整为|調整|不是|推迟|延期|提前|移到|搬到|迁到|升级|提高到|降到|取消|看错|写错|说错|换到|延后"
    "|訂正|変更|ではなく|じゃなく|代わりに|差し替え|忘れて|やはり|やっぱり|今は|は今|になりました|になります|移りました|移した|延び|延期|移行|変わ|切り替え|に直し|間違え|引き上げ|引き下げ"
    "|정정|변경|이제|아니라|대신|바꿔|바뀌|수정|바꾸|바꿉|바꿨|연기|옮겼|옮기|당겨|미뤄|올렸|올려|낮춰|낮췄|잘못 |잊고",
)
"""Words that say that something is no longer as it was."""
_NOW: Final = _phrases("now |now, |jetzt |maintenant |ahora |теперь |сейчас |现在|今から|이제 ")


def has_changed(lower: str, words: frozenset[str]) -> bool:
    """True when a sentence says that something is no longer as it was. "Now open the file" does not."""
    return CHANGES.found(lower, words) and not (lower.startswith(_NOW) and not CHANGES.found(rest := lower[5:], words_of(rest)))


OLD_NEXT: Final = _phrases(
    "instead of|rather than|in place of|no longer|not|replace|replaces|forget|drop|statt|anstelle von|"
    "nicht mehr|nicht|vergiss|ersetze|au lieu de|n'est plus|oublie|remplace|plutôt que|en lugar de|"
    "en vez de|ya no es|no es|olvida|reemplaza|вместо|больше не|не|забудь|замени|не использовать|不用|别管|把|"
    "不是|不再是|取代"
)
"""What stands before an old value that is about to be replaced."""
OLD_FROM: Final = _phrases("from|von|vom|de|du|del|с|со|从|由")
NEW_TO: Final = _phrases("to|auf|nach|zu|zum|in|à|au|vers|a|al|на|в|到|至|改|换|变|升|→|->|to:")
"""What stands before an old value when one of the second kind follows it."""
OLD_BEFORE: Final = _phrases(
    "ではなく|じゃなく|の代わり|は忘れ|가 아니라|이 아니라|는 아니|대신|는 잊|을 잊|is out|was wrong|is wrong"
)
"""What stands behind one."""

_VALUE_WORDS: Final = word_set(
    "is are equals becomes will changed moved ist lautet est es set change update updated bump bumped switch switched move rename renamed"
)
_TRIGGERS: Final = _VALUE_WORDS.union(
    ("don't", "dont"),
    *[
        cues.words | {next(iter(phrase.translate(PUNCTUATION).split())) for phrase in cues.phrases}
        for cues in (RULES, DECISIONS, OPEN, DONE, NEXT, CHANGES)
    ],
)

LIFTS: Final = _phrases(
    "is fine|are fine|is ok|are ok|is okay|are okay|allowed again|is allowed|are allowed|no longer applies|not needed any|no need to|"
    "lift the|you may |feel free to|ist erlaubt|sind erlaubt|wieder erlaubt|darfst du|ist in ordnung|gilt nicht mehr|est permis|"
    "sont permis|tu peux|ne s'applique plus|está permitido|están permitidos|ya no aplica|puedes |можно |разрешено|больше не действует|"
    "可以了|允许了|解禁|不再需要|してもいい|しても構い|許可します|解除|해도 됩니다|해도 돼|허용합니다|해제"
)
"""How a rule is taken back."""

ANY_CUE: Final = _TRIGGERS - _VALUE_WORDS
"""Words of any kind of cue."""


def is_plain(lower: str, words: frozenset[str]) -> bool:
    """True when nothing of this module finds anything in the text; most sentences are plain, and this is cheap."""
    return (
        words.isdisjoint(_TRIGGERS)
        and lower.isascii()
        and "=" not in lower
        and ": " not in lower
        and "[" not in lower
        and "->" not in lower
    )
